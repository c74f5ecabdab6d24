"""What a benchmark leaves: all it measured as JSON, and a page for people, which can be drawn again from that."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.io.files import read_json, whole_file, write_json

FOLDER = Path("reports/benchmarks")

Results = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """reports/benchmarks/NAME.json, and NAME.md, which comes from it and from benchmarks/NAME_notes.md.

    `draw` makes the page of the results and the notes.
    """

    name: str
    draw: Callable[[Results, str], str]

    @property
    def results(self) -> Path:
        """The file of all runs."""
        return FOLDER / f"{self.name}.json"

    def save(self, results: Results) -> None:
        """Write both files."""
        write_json(self.results, results)
        self._write(results)

    def draw_again(self) -> None:
        """Write the page from what is there, after the notes or the way of drawing have changed."""
        self._write(read_json(self.results))

    def _write(self, results: Results) -> None:
        notes = Path(__file__).with_name(f"{self.name}_notes.md").read_text(encoding="utf-8")
        with whole_file(self.results.with_suffix(".md")) as temporary:
            temporary.write_text(self.draw(results, notes), encoding="utf-8")
