"""Lines of a pipe: as soon as they are there, and together when they are there together."""

import os
from pathlib import Path

from transformer.io.stream import lines_as_they_come


def test_what_is_there_comes_at_once_and_half_a_line_when_it_is_whole() -> None:
    """Where it waited for more than is there, this would not end."""
    reading, writing = os.pipe()
    lines = lines_as_they_come(reading, at_once=1000)
    os.write(writing, b"the cat\n\nthe d")
    assert next(lines) == [b"the cat", b""]
    os.write(writing, b"og\xe2\x80")
    os.write(writing, b"\xa8still it\n")
    assert next(lines) == ["the dog\u2028still it".encode()]
    os.write(writing, b"no end")
    os.close(writing)
    assert list(lines) == [[b"no end"]]
    os.close(reading)


def test_a_thousand_that_are_there_come_together(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"".join(b"%d\n" % i for i in range(2500)))
    with (tmp_path / "lines").open("rb") as file:
        chunks = list(lines_as_they_come(file.fileno(), at_once=1000))
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    assert [line for chunk in chunks for line in chunk] == [b"%d" % i for i in range(2500)]


def test_nothing_is_no_line(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("rb") as file:
        assert list(lines_as_they_come(file.fileno(), at_once=2)) == []


def test_a_line_longer_than_one_read(tmp_path: Path) -> None:
    long = b"a" * 2_500_000
    (tmp_path / "long").write_bytes(long + b"\nb\n")
    with (tmp_path / "long").open("rb") as file:
        assert [line for chunk in lines_as_they_come(file.fileno(), at_once=1) for line in chunk] == [long, b"b"]
