"""A test that could have run here and was skipped does not go unseen: the last line says so, and .ci/run fails."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT, run

TESTS = {"gpu": "this machine has no GPU", "browser": "Chromium is missing: install it"}


def last_lines(folder: Path, *skipped: str, strict: bool) -> tuple[int, list[str]]:
    """Exit code and output of pytest with this project's hooks, where a test passes and others are skipped."""
    shutil.copy(ROOT / "tests/conftest.py", folder)
    marked = [f"@pytest.mark.skip(reason={TESTS[name]!r})\ndef test_{name}(): pass\n" for name in skipped]
    (folder / "test_it.py").write_text("import pytest\n" + "".join(marked) + "def test_passes(): pass\n")
    asked = "--no-mendable-skips" if strict else ""
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder, PYTEST_ADDOPTS=asked)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("strict", [False, True])
def test_the_last_line_says_how_many_were_skipped_and_why(tmp_path: Path, strict: bool) -> None:
    code, lines = last_lines(tmp_path, "gpu", strict=strict)
    assert (code, lines[-1]) == (0, "skipped: 1 (this machine has no GPU)")
    assert lines[-2].startswith("1 passed, 1 skipped in ")
    code, lines = last_lines(tmp_path, strict=strict)
    assert (code, lines[-1]) == (0, "skipped: none")


def test_what_could_be_mended_fails_where_that_is_asked_for(tmp_path: Path) -> None:
    said = "skipped: 1 (this machine has no GPU); 1 (Chromium is missing: install it)"
    code, lines = last_lines(tmp_path, "gpu", "browser", strict=False)
    assert (code, lines[-1]) == (0, said)
    code, lines = last_lines(tmp_path, "gpu", "browser", strict=True)
    assert (code, lines[-2:]) == (1, ["error: what this machine can mend: 1 (Chromium is missing: install it)", said])


def test_ci_asks_for_it() -> None:
    assert "--no-mendable-skips" in (ROOT / ".ci/run").read_text()
