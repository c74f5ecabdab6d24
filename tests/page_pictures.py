"""The two pictures of the README, taken of reports/index.html in an installed Chromium.

    dvc repro --single-item report && python -m tests.page_pictures

reports/index.html -> reports/figures/page_light.png  reports/figures/page_dark.png
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.workspace import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "page_light.png": ("", {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}}),
    "page_dark.png": (
        "#figures-two-heads-that-do-different-things",
        {"color_scheme": "dark", "viewport": {"width": 360, "height": 800}},
    ),
}


@contextmanager
def chromium() -> Iterator[Browser]:
    """The installed browser, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, timeout=240_000)
        yield browser
        browser.close()


def take_pictures(browser: Browser, page: Path, folder: Path) -> None:
    """A desktop in light and a phone in dark, in so few colours that the files are small."""
    for name, (part, options) in PICTURES.items():
        tab = browser.new_page(reduced_motion="reduce", **options)
        tab.goto(page.resolve().as_uri() + part)
        tab.locator(part or "body").wait_for()
        tab.screenshot(path=folder / name)
        tab.close()
        Image.open(folder / name).convert("RGB").quantize(256).save(folder / name, optimize=True)


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m tests.page_pictures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    with chromium() as browser:
        take_pictures(browser, ROOT / "reports/index.html", ROOT / "reports/figures")
