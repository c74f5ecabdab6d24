import pytest

from tasks.origins.wheels.plain_messages import Unfit, plain_pairs


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("Copy %(what)s to %(where)s", "Copy {1} to {2}"),
        ("Copy %s, %d and %.2f", "Copy {1}, {2} and {3}"),
        ("Copy {what} to {} or {0:.2f} or {there!r}", "Copy {1} to {2} or {3} or {4}"),
        ("Copy {{ what }} to ${where} by {$who.name$}", "Copy {1} to {2} by {3}"),
        ("Copy %1$s to %2", "Copy {1} to {2}"),
        ("{n} of {n}", "{1} of {1}"),
        ("%d%% done", "{1}% done"),
        ("100 % sure, 50% done", "100 % sure, 50% done"),
        ("&Save file", "Save file"),
        ("E&xit", "Exit"),
        ("R&D, Q&A and salt & pepper", "R&D, Q&A and salt & pepper"),
        ("Press <b>Save</b>, see <a href='%(url)s'>help</a>", "Press Save, see help"),
        ("Press **Save**, see [help]({url}) on `files`", "Press Save, see help on files"),
        ("See {link}help{/link}", "See help"),
        ("*Mind the gap.* 2 * 3", "Mind the gap. 2 * 3"),
        ("Save &quot;it&quot;", 'Save "it"'),
        ("  Save\n   all files\t", "Save all files"),
    ],
)
def test_a_message_becomes_plain(message, plain):
    assert plain_pairs(message, message) == [(plain, plain)]


def test_a_name_has_the_same_number_on_both_sides():
    assert plain_pairs("%(a)s before %(b)s", "%(b)s nach %(a)s") == [("{1} before {2}", "{2} nach {1}")]


@pytest.mark.parametrize("target", ["Von {a}", "Von {a} bis {c}", "Von {a} bis {b} und {b}"])
def test_placeholders_that_differ_are_refused(target):
    with pytest.raises(Unfit, match="placeholders"):
        plain_pairs("From {a} to {b}", target)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("{count, plural, one {a file} other {files}}", "plural forms"),
        ("{% if a %}a file{% endif %}", "logic"),
        ("Choose:\n- a file\n- a folder", "list"),
        ("See <unknown>this</unknown>", "markup"),
        ("Set %prefix% first", "markup or code"),
    ],
)
def test_what_cannot_be_made_plain_is_refused(message, reason):
    with pytest.raises(Unfit, match=reason):
        plain_pairs(message, message)


def test_paragraphs_are_paired_where_both_sides_have_as_many():
    assert plain_pairs("# One\nTwo.<br>Three.", "# Eins\nZwei.<br>Drei.") == [
        ("One", "Eins"),
        ("Two.", "Zwei."),
        ("Three.", "Drei."),
    ]
    assert plain_pairs("One.\n\nTwo.", "Eins. Zwei.") == [("One. Two.", "Eins. Zwei.")]
