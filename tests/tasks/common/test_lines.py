import lzma

import pytest

from tasks.common.lines import read_lines
from transformer.io.errors import InputError


@pytest.mark.parametrize(("data", "why"), [(b"f\xfcnf\n", "not UTF-8"), (lzma.compress(b"five\n"), "packed with xz")])
def test_what_is_no_text_is_named(tmp_path, data, why):
    path = tmp_path / "test.en"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"test\.en: {why}.* run the stage that writes it again"):
        read_lines(path)
