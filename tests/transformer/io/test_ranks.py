"""A process's place among ranks, where torchrun has set all of it, and where something else has set some."""

import pytest

from transformer.io.errors import InputError
from transformer.io.ranks import Place, read_place

SET = {"WORLD_SIZE": "4", "RANK": "3", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"}


def test_the_place_is_what_torchrun_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SET.items():
        monkeypatch.setenv(name, value)
    assert read_place() == Place(ranks=4, rank=3, local_ranks=2, local_rank=1)


def test_a_process_alone_minds_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("LOCAL_RANK", "7")
    assert read_place() == Place()


@pytest.mark.parametrize(("name", "value"), [("RANK", ""), ("LOCAL_RANK", ""), ("WORLD_SIZE", "many")])
def test_what_is_only_half_there_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    for other in SET:
        monkeypatch.setenv(other, SET[other] if other != name else value)
    with pytest.raises(InputError, match=rf"WORLD_SIZE=.*, and {name} is .*: start this with torchrun"):
        read_place()
