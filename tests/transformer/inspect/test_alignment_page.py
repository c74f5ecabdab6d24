"""The page of alignment pictures: whole or not there, readable without a net, text in it never markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from transformer.inspect.alignment_page import alignment_page, picture
from transformer.io.errors import InputError


class Reader(HTMLParser):
    """Notes tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_holds_its_pictures_and_needs_nothing_else(tmp_path: Path) -> None:
    with alignment_page(tmp_path / "out.html") as page:
        page.write(picture("line 1", ["▁a", "</s>"], ["▁b<i>", "&amp;", "</s>"], [[1, 0], [0.25, 0.75], [0, 1]]))
        assert not (tmp_path / "out.html").exists()
    written = (tmp_path / "out.html").read_text(encoding="utf-8")
    reader = Reader(written)
    assert not {"script", "link", "img", "i"} & set(reader.tags)
    assert not {"src", "href"} & reader.attributes
    assert "http" not in written
    assert "line 1" in reader.texts
    labels = reader.texts[reader.texts.index("line 1") + 1 :]
    assert "".join(labels).split() == ["▁b<i>", "&amp;", "</s>", "▁a", "</s>"]


def test_rows_are_pieces_of_the_output_and_small_weights_are_white() -> None:
    html = picture("t", ["a", "b", "c"], ["x", "y"], [[0.9, 0.096, 0.004], [0.0, 0.5, 0.5]])
    cells = re.findall(r'd="M(\d) (\d)h1v1h-1z" opacity="([\d.]+)"', html)
    assert cells == [("0", "0", "0.90"), ("1", "0", "0.10"), ("1", "1", "0.50"), ("2", "1", "0.50")]


def test_an_error_leaves_no_page(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), alignment_page(tmp_path / "out.html"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_no_file_can_be_is_refused_before_any_work(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is a folder"), (tmp_path / "no" / "out.html", "no folder")):
        with pytest.raises(InputError, match=message), alignment_page(path):
            pytest.fail("began to work")
