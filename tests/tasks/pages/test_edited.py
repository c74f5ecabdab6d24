"""Pages that people edited by hand."""

from pathlib import Path

import pytest

from tasks.pages.edited import write_page


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "table9.md"
    assert write_page(path, "# Table 9\n\n| a | b |\n") is None
    return path


def test_a_page_that_nobody_touched_is_written_anew_and_nothing_kept(page: Path) -> None:
    assert write_page(page, "# Table 9, longer\n") is None
    assert [path.name for path in page.parent.iterdir()] == ["table9.md"]
    assert page.read_text().startswith("# Table 9, longer\n\n<!-- sha256")


def test_the_same_text_gives_the_same_bytes(page: Path) -> None:
    before = page.read_bytes()
    write_page(page, "# Table 9\n\n| a | b |\n")
    assert page.read_bytes() == before


@pytest.mark.parametrize("edit", [
    lambda text: text.replace("| a |", "| 1 |"),
    lambda text: text + "A remark behind the last line.\n",
    lambda text: "A page of one's own.\n",
    lambda text: "",
])  # fmt: skip
def test_an_edit_is_kept_beside_the_page(page: Path, edit) -> None:  # type: ignore[no-untyped-def]
    edited = edit(page.read_text())
    page.write_text(edited)
    kept = write_page(page, "# Table 9\n")
    assert kept is not None
    assert (kept.parent, kept.suffix) == (page.parent, ".md")
    assert kept.name.startswith("table9.edited-")
    assert kept.read_text() == edited
    assert page.read_text().startswith("# Table 9\n")
    assert write_page(page, "# Table 9\n") is None


def test_a_second_edit_does_not_replace_the_first(page: Path) -> None:
    kept = []
    for remark in ("one\n", "two\n"):
        page.write_text(page.read_text() + remark)
        kept.append(write_page(page, "# Table 9\n"))
    assert len({*kept, None}) == 3
