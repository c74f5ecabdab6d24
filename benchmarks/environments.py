"""A virtual environment for each toolkit, below .benchmarks/, made once from contenders/NAME.txt.

torch, and whatever else a toolkit's list leaves out, comes from the environment that runs this: so all train with the
same build, which is also why pip must not follow what the toolkits say they need (most ask for a torch of years ago).
"""

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".benchmarks"
CONTENDERS = Path(__file__).with_name("contenders")


class NotInstalled(Exception):
    """A toolkit's environment could not be made; says why in one line."""


def python_for(contender: str) -> Path:
    """The interpreter that runs contenders/NAME.py; makes its environment where there is none yet."""
    needs = CONTENDERS / f"{contender}.txt"
    if not needs.exists():
        return Path(sys.executable)
    folder = FOLDER / contender
    done = folder / needs.name
    if not done.exists() or done.read_bytes() != needs.read_bytes():
        print(f"{contender}: installing into {folder}", file=sys.stderr, flush=True)
        venv.EnvBuilder(clear=True, symlinks=True).create(folder)
        # Named in a .pth file, a folder comes after the environment's own packages.
        site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        (site / "same_torch.pth").write_text(f"{_site_of('torch')}\n")
        _install(needs, folder)
        done.write_bytes(needs.read_bytes())
    return folder / "bin" / "python"


def _install(needs: Path, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder),
        "install",
        "--quiet",
        "--no-deps",
        "-r",
        str(needs),
    ]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise NotInstalled(last_line(found.stderr))


def last_line(text: str) -> str:
    """The last line that says something: of a traceback the error itself."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def _site_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parents[1]
