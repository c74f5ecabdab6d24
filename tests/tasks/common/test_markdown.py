"""How the reports write what may hold characters of Markdown."""

from markdown_it import MarkdownIt

from tasks.common.markdown import listed, literal, table


def test_a_bar_in_text_is_escaped_once_and_shown() -> None:
    text = table(["error"], [[literal("no room | free *some*")]])
    assert text.splitlines()[-1] == "| no room \\| free \\*some\\* |"
    assert "<td>no room | free *some*</td>" in MarkdownIt("commonmark").enable("table").render(text)


def test_nothing_counted_is_none() -> None:
    assert listed({}) == "none"
    assert listed({"empty": 1200, "too long": 1}) == "1,200 empty, 1 too long"
