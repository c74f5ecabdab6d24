from collections import Counter

from PIL import Image

from tasks.cleaning.corpus_page import write_page

SOURCES = [
    {"split": "train", "file": "train.tsv", "sha256": "12ab"},
    {"file": "test.tsv", "licence": "CC0 | public domain"},
]


def page(folder, **changed):
    pairs = [(f"Room {n} is *free*.", f"Zimmer {n} ist frei.") for n in range(30)]
    for side, code in enumerate(("en", "de")):
        (folder / f"train.{code}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    sizes = {split: {"source": 120, "target": 1120} for split in ("train", "valid", "test")}
    facts = {
        "languages": {"source": "en", "target": "de"},
        "test_set": "rooms",
        "about": "Files of your own.",
        "cleaning": {"max_characters": 400, "drop": []},
        "pairs": {"train": 30, "valid": 1000, "test": 10},
        "words": sizes,
        "characters": sizes,
        "dropped": {"before splitting": {}, "train": {"empty": 1200}, "valid": {}},
        "changed": {"train": {}, "valid": {"white space": 7}},
        "overlap": {"sources in test": 5},
        "test": {"escaped": 0, "empty": 1},
        "sources": SOURCES,
    }
    write_page(folder, "hotel", {**facts, **changed}, [Counter({4: 29, 90: 1}), Counter({3: 15, 5: 12, 6: 3})])
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_page_says_how_large_the_corpus_is_and_what_was_dropped_and_changed(tmp_path):
    text = page(tmp_path)
    assert "| train | 30 | 120 | 1,120 | 120 | 1,120 | 1,200 empty |" in text
    assert "| test (rooms) | 10 | 120 | 1,120 | 120 | 1,120 | never |" in text
    assert "valid that were changed: 7 white space." in text
    assert "5 sources in test; kept." in text
    assert "[manifest.json](../../shards/hotel/manifest.json)" in text  # with what the shards leave out
    assert "5 sources in test; dropped." in page(tmp_path, cleaning={"drop": ["overlap"]})


def test_lengths_are_a_table_and_a_picture(tmp_path):
    text = page(tmp_path)
    assert "| en | 6.9 | 4 | 4 | 90 | 90 |" in text
    assert "| de | 4.1 | 3 | 5 | 6 | 6 |" in text
    assert "](lengths.png)" in text
    with Image.open(tmp_path / "lengths.png") as picture:
        assert picture.size == (840, 420)
        assert len(picture.convert("RGB").getcolors(840 * 420)) > 10


def test_ten_pairs_are_shown_as_they_are_and_always_the_same(tmp_path):
    text = page(tmp_path)
    assert text.count("\n- line ") == 10
    assert r"is \*free\*." in text
    assert page(tmp_path) == text


def test_sources_of_any_kind_have_a_table_with_all_that_is_known(tmp_path):
    text = page(tmp_path, about="From elsewhere.")
    assert "| split | file | sha256 | licence |" in text
    assert "| train | train.tsv | `12ab` |  |" in text
    assert r"|  | test.tsv |  | CC0 \| public domain |" in text


def test_what_was_left_out_is_listed_up_to_twenty_lines(tmp_path):
    assert "Left out" not in page(tmp_path)
    text = page(tmp_path, notes=["a.tree, line 2: '*x*' is none"])
    assert "## Left out" in text and r"- a.tree, line 2: '\*x\*' is none" in text and "more, which" not in text
    text = page(tmp_path, notes=[f"a.tree, line {n}: none" for n in range(1, 1031)])
    assert text.count("\n- a.tree, line ") == 20
    assert "and 1,010 more in corpus.json." in text


def test_of_thousands_of_sources_the_first_are_shown(tmp_path):
    text = page(tmp_path, sources=[{"file": f"{n}.mrg"} for n in range(99)])
    assert "| 19.mrg |\n\nand 79 more" in text
