"""What holds for all tests."""

import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

# Small tensors gain nothing from threads, and lose much where several processes share the cores. Children inherit it.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.update(DO_NOT_TRACK="1", DVC_NO_ANALYTICS="1", PREFECT_SERVER_ANALYTICS_ENABLED="false", HF_HUB_OFFLINE="1")

# Files of minutes, by what most of their tests wait for: whole pipelines, flows, and processes that are killed.
LONGEST = {"test_pipeline.py", "test_reproduce.py", "test_services.py", "test_restarts.py", "test_treebank_road.py"}

# Begins the reason of each skip for which nothing that could be installed here would help; others say what to install.
NO_HELP = "this machine has no "


@pytest.fixture(scope="session", autouse=True)
def hidden_gpu() -> Iterator[pytest.MonkeyPatch]:
    """Hide the GPU from this process and its children, also while fixtures of modules are made."""
    hidden = pytest.MonkeyPatch()
    _hide_gpu(hidden)
    yield hidden
    hidden.undo()


@pytest.fixture(autouse=True)
def shown_gpu(request: pytest.FixtureRequest, hidden_gpu: pytest.MonkeyPatch) -> Iterator[None]:
    """Show it to a test that is marked as needing one."""
    marked = request.node.get_closest_marker("gpu")
    if marked:
        hidden_gpu.undo()
    yield
    if marked:
        _hide_gpu(hidden_gpu)


def _hide_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    if torch := sys.modules.get("torch"):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-mendable-skips",
        action="store_true",
        help=f"fail if a test is skipped for another reason than {NO_HELP}...",
    )


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since tests also wait: for servers, and for what they stop to end."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first, so that none is left for one process when the others have nothing to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path not in slow))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus == pytest.ExitCode.OK and mendable(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Below all that pytest says: how many tests were skipped, and why."""
    if (terminal := config.pluginmanager.get_plugin("terminalreporter")) is None:
        return
    if found := mendable(config):
        terminal.write_line(f"error: what this machine can mend: {listed(found)}", red=True)
    terminal.write_line(f"skipped: {listed(skips(config)) or 'none'}")


def mendable(config: pytest.Config) -> "Counter[str]":
    """The skips that make the run fail, if it was asked to."""
    asked = config.getoption("no_mendable_skips")
    return Counter({why: n for why, n in skips(config).items() if asked and not why.startswith(NO_HELP)})


def skips(config: pytest.Config) -> "Counter[str]":
    """How often each reason was given."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    reports = terminal.stats.get("skipped", []) if terminal else []
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)


def listed(counts: "Counter[str]") -> str:
    return "; ".join(f"{n} ({why})" for why, n in counts.most_common())
