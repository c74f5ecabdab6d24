import pytest

from tasks.common.settings import Languages
from tasks.origins.swapped_sides import check_direction
from transformer.io.errors import InputError

EN_DE = Languages(source="en", target="de")
PAIRS = [(f"This is the house of number {n}.", f"Das ist nicht der Ort mit der Nummer {n}.") for n in range(3000)]
SWAPPED = [(target, source) for source, target in PAIRS]


@pytest.mark.fault("F07")
def test_sides_in_each_others_place_are_refused():
    with pytest.raises(InputError, match=r"a\.en and a\.de: .*'en' looks like 'de'.*languages\.source"):
        check_direction(SWAPPED, EN_DE, "a.en and a.de")
    with pytest.raises(InputError):
        check_direction(PAIRS, Languages(source="de", target="en"), "text")


@pytest.mark.parametrize(
    ("pairs", "languages"),
    [
        (PAIRS, EN_DE),
        (SWAPPED, Languages(source="cs", target="xx")),
        (SWAPPED[:1], EN_DE),
        ([(source, source) for source, _ in PAIRS], EN_DE),
        ([], EN_DE),
    ],
    ids=["right", "unknown languages", "too few", "one language", "none"],
)
def test_every_pair_passes_otherwise(pairs, languages):
    assert list(check_direction(iter(pairs), languages, "text")) == pairs
