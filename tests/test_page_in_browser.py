"""reports/index.html of the stored scores, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tasks.report import write_reports
from tasks.results.stored import read_results
from tests.page_pictures import CHROMIUM, PICTURES, chromium, take_pictures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="Chromium is missing: apt-get install chromium, or as your system has it"
    ),
]

# The smallest contrast (WCAG 2.2) of a text in sight with what is behind it, and that text.
SMALLEST_CONTRAST = """() => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => numbers(color).slice(0, 3)
    .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = each => {
    for (; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if ((numbers(color)[3] ?? 1) > 0) return color;
    }
  };
  let smallest = [21, ""];
  for (const each of document.querySelectorAll("body *")) {
    const own = [...each.childNodes].filter(node => node.nodeType === 3).map(node => node.textContent.trim()).join("");
    if (!own || !each.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(each).color), light(behind(each))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < smallest[0]) smallest = [contrast, own];
  }
  return smallest;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    (folder / "figures").mkdir()
    write_reports(read_results(), folder)
    return folder / "index.html"


def new_tab(browser: Browser, **options: Any) -> Page:
    """An empty page that waits for as long as a busy machine may take."""
    tab = browser.new_page(**options)
    tab.set_default_timeout(240_000)
    return tab


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Page]:
    tab = new_tab(browser)
    tab.goto(written.as_uri())
    yield tab
    tab.close()


def test_it_needs_nothing_but_itself(browser: Browser, written: Path) -> None:
    tab = new_tab(browser)
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(written.as_uri(), wait_until="networkidle")
    tab.close()
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [written.as_uri()]
    assert written.stat().st_size < 3e6


def test_all_pictures_show(page: Page) -> None:
    widths = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(widths) >= 2
    assert all(widths)
    assert page.evaluate("[...document.images].every(image => image.alt)")


def column(page: Page, table: str, head: str) -> list[str]:
    """What a column shows, from the top, in the first table behind a heading."""
    return page.evaluate(
        """([heading, head]) => {
          const box = [...document.querySelectorAll(".scroll")].find(each => each.ariaLabel.startsWith(heading));
          const place = [...box.querySelectorAll("thead th")].findIndex(each => each.textContent === head);
          return [...box.querySelectorAll("tbody tr")].map(row => row.cells[place].textContent);
        }""",
        [table, head],
    )


def test_columns_sort_by_number_both_ways_and_back_and_without_a_mouse(page: Page) -> None:
    table, head = "The paper's rows (newstest2014", "FLOPs en-de"
    written = column(page, table, head)
    box = page.locator(".scroll").filter(has=page.get_by_role("button", name=head)).first
    box.get_by_role("button", name=head).click()
    rising = column(page, table, head)
    numbers = [float(text) for text in rising if text != "–"]
    assert numbers == sorted(numbers)
    assert [str(number) for number in numbers] != sorted(map(str, numbers)), "text in this order would prove nothing"
    assert rising[len(numbers) :] == ["–"] * written.count("–") != []
    page.keyboard.press("Enter")  # the head still has the focus
    assert [float(text) for text in column(page, table, head) if text != "–"] == numbers[::-1]
    assert column(page, table, head)[-1] == "–"
    page.keyboard.press("Space")
    assert column(page, table, head) == written
    box.get_by_role("button", name="system").click()
    systems = column(page, table, "system")
    assert systems == sorted(systems, key=str.casefold)


def test_every_column_of_every_table_sorts(page: Page) -> None:
    wrong = page.evaluate(
        """() => [...document.querySelectorAll("table")].flatMap(table => {
          const rows = () => [...table.tBodies[0].rows], before = new Set(rows());
          return [...table.querySelectorAll("thead button")].filter(button => {
            button.click();
            const kept = rows().length === before.size && rows().every(row => before.has(row));
            const marked = table.querySelectorAll("[aria-sort]").length === 1;
            return !kept || !marked || button.parentElement.ariaSort !== "ascending";
          });
        }).map(button => button.textContent)"""
    )
    assert wrong == []


def test_numbers_lead_to_their_run(page: Page) -> None:
    links = page.evaluate(
        """[...document.querySelectorAll('a[href^="#"]')].map(link => [link.hash.slice(1), link.title])"""
    )
    anchors = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(anchors) == len(set(anchors))
    assert {anchor for anchor, _ in links} <= set(anchors)
    names = list(read_results().scores)
    for name in names:
        titles = {title.split("; ")[0] for anchor, title in links if anchor == f"run-{name}"}  # of a mean: all its runs
        assert len(titles) == 1, name
        pattern = rf"{name}: MLflow run \w+, commit [0-9a-f]{{8}}(\+changes)?, \d{{4}}-\d\d-\d\d"
        assert re.fullmatch(pattern, titles.pop())
    run = page.locator(f"#run-{names[0]}")
    assert run.get_attribute("open") is None
    page.locator(f'td a[href="#run-{names[0]}"]').first.click()
    run.get_by_text("trained by commit").first.wait_for(state="visible")
    unlinked = page.evaluate(
        """[...document.querySelectorAll('tr:has(th a[href^="#run-"])')].flatMap(row => [...row.cells])
          .filter(cell => !/paper$/.test(cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent))
          .filter(cell => cell.dataset.sort && !cell.querySelector("a")).map(cell => cell.textContent)"""
    )
    assert unlinked == []


@pytest.mark.parametrize("width", [1280, 360])
def test_it_reads_in_light_and_in_dark(browser: Browser, written: Path, width: int, tmp_path: Path) -> None:
    backgrounds, corners = {}, {}
    for scheme in ("light", "dark"):
        tab = new_tab(browser, color_scheme=scheme, viewport={"width": width, "height": 800})
        tab.goto(written.as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        contrast, text = tab.evaluate(SMALLEST_CONTRAST)
        assert contrast >= 4.5, f"in {scheme}: {text}"
        backgrounds[scheme] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.locator("figure").first.screenshot(path=tmp_path / "figure.png")
        corners[scheme] = max(Image.open(tmp_path / "figure.png").convert("RGB").getpixel((2, 2)))
        tab.close()
    assert backgrounds["light"] != backgrounds["dark"]
    assert corners["light"] > 240
    assert corners["dark"] < 40


def test_on_a_phone_only_boxes_scroll_sideways(browser: Browser, written: Path) -> None:
    tab = new_tab(browser, viewport={"width": 360, "height": 760})
    tab.goto(written.as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = tab.evaluate("[...document.querySelectorAll('.scroll')].some(box => box.scrollWidth > box.clientWidth)")
    width = tab.evaluate("document.documentElement.scrollWidth")
    tab.close()
    assert wide, "no table is wider than a phone: this proves nothing"
    assert width == 360


def test_a_box_shows_that_there_is_more_to_the_right(browser: Browser, written: Path) -> None:
    tab = new_tab(browser, viewport={"width": 360, "height": 760})
    tab.goto(written.as_uri())
    box = tab.locator(".scroll").first
    tab.locator(".scroll.more").first.wait_for()
    assert "gradient" in box.evaluate("box => getComputedStyle(box).maskImage")
    box.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    expect(box).not_to_have_class(re.compile(r"\bmore\b"), timeout=240_000)
    tab.close()


def test_the_pictures_of_the_readme_are_small(browser: Browser, written: Path, tmp_path: Path) -> None:
    take_pictures(browser, written, tmp_path)
    for name, (_, options) in PICTURES.items():
        assert (tmp_path / name).stat().st_size < 150_000
        assert Image.open(tmp_path / name).width == options["viewport"]["width"]
