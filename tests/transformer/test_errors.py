"""How a command ends: what the user can put right in one line, a defect in a traceback and a line that names it."""

import pytest

from transformer.errors import InputError, run_main


def fail(error: Exception) -> None:
    raise error


def test_what_the_user_can_put_right_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run_main(lambda: fail(InputError("params.yaml: no")))
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: params.yaml: no\n"


@pytest.mark.parametrize(("ranks", "line"), [("1", "ValueError: broken"), ("4", "rank 3: ValueError: broken")])
def test_a_defect_is_named_in_the_last_line_with_its_rank(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ranks: str, line: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", ranks)
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(SystemExit) as caught:
        run_main(lambda: fail(ValueError("broken\nand more of it")))
    assert caught.value.code == f"error: {line}"  # which Python prints, and ends with 1
    assert "and more of it" in capsys.readouterr().err  # in the traceback
