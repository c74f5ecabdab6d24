"""Scripts that part words by spaces, and those that do not."""

import pytest

from transformer.text.sentences import without_spaces


@pytest.mark.parametrize(
    ("lines", "without"),
    [
        (["今天天气很好。", "OK"], True),
        (["ドアを開けて", "ｶﾞﾗｽ"], True),
        (["ประตูเปิดอยู่"], True),
        (["ປະຕູເປີດຢູ່"], True),
        (["ទ្វារបើកចំហ"], True),
        (["တံခါးဖွင့်ထားသည်"], True),
        (["문이 열려 있습니다."], False),
        (["Die Tür ist offen.", "Дверь открыта.", "الباب مفتوح", "दरवाज़ा खुला है"], False),
        (["The door (门) is open."], False),
        (["1234 ...", ""], False),
        ([], False),
    ],
)
def test_the_script_of_most_letters_decides(lines: list[str], without: bool) -> None:
    assert without_spaces(lines) == without
