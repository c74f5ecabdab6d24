import pytest

from tasks.common.settings import Languages
from tasks.origins.set_sizes import count_known
from transformer.io.errors import InputError

EN_DE, DE_EN, EN_CS, EN_TREE = (
    Languages(source=a, target=b) for a, b in (("en", "de"), ("de", "en"), ("en", "cs"), ("en", "tree"))
)


@pytest.mark.fault("F07")
@pytest.mark.parametrize(
    ("name", "count"), [("newstest2014", 3003), ("newstest2014-2737", 2737), ("newstest2013", 3000)]
)
@pytest.mark.parametrize("languages", [EN_DE, DE_EN])
def test_a_set_has_the_number_of_pairs_of_its_name(name, count, languages):
    assert len(list(count_known([("a", "b")] * count, name, languages, "test_set"))) == count
    for other in (count - 1, count + 1):
        with pytest.raises(
            InputError, match=f"test_set is {name}, which has {count:,} pairs, but the text has {other:,}"
        ):
            list(count_known([("a", "b")] * other, name, languages, "test_set"))


def test_section_23_has_all_of_its_trees():
    pairs = [("Yes", "(TOP (UH Yes))")] * 2416
    assert list(count_known(pairs, "WSJ 23", EN_TREE, "test_set")) == pairs
    with pytest.raises(InputError, match="test_set is WSJ 23, which has 2,416 pairs, but the text has 2,415"):
        list(count_known(pairs[1:], "WSJ 23", EN_TREE, "test_set"))


def test_other_sets_are_the_users_own():
    assert list(count_known([("a", "b")], "ours", EN_DE, "test_set")) == [("a", "b")]
    assert list(count_known([("a", "b")], "newstest2014", EN_CS, "test_set")) == [("a", "b")]
