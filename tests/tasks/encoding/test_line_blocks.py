import pytest

from tasks.encoding import line_blocks as blocks
from transformer.io.errors import InputError

LINES = [f"{n} ä\u2028\x85" * (n % 4) for n in range(23)]


@pytest.fixture
def paths(tmp_path):
    """Lines that hold what others take for line ends, some of them empty; the second file ends within its last line."""
    pair = tmp_path / "train.en", tmp_path / "train.de"
    pair[0].write_bytes("".join(f"{line}\n" for line in LINES).encode())
    pair[1].write_bytes("\n".join(line * 2 + "x" for line in LINES).encode())
    return pair


@pytest.mark.parametrize("size", [1, 4, 22, 23, 100])
@pytest.mark.parametrize("bytes_at_once", [1, 7, 10**6])
def test_blocks_have_all_lines_in_order(paths, size, bytes_at_once, monkeypatch):
    monkeypatch.setattr(blocks, "BYTES", bytes_at_once)
    cut = blocks.cut("train", paths, 23, size)
    batches = [batch for block in cut for batch in block.read(3)]
    assert all(len(source) == len(target) <= 3 for source, target in batches)
    assert [line for block in cut for source, _ in block.read(3) for line in source] == LINES
    assert [line for block in cut for _, target in block.read(3) for line in target] == [x * 2 + "x" for x in LINES]
    assert [(block.number, block.first) for block in cut] == [(i, 1 + i * size) for i in range(-(-23 // size))]
    assert sum(block.lines for block in cut) == 23


@pytest.mark.fault("F02")
@pytest.mark.parametrize("lines", [22, 24])
def test_a_file_of_another_length_than_its_description_is_refused(paths, lines):
    with pytest.raises(InputError, match=rf"train\.en: has 23 lines, but corpus\.json says {lines}"):
        blocks.cut("train", paths, lines, 5)
