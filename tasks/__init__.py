"""Stages of the pipeline and other commands: a file here is one, `python -m tasks.NAME`; a package is what they share.

Three packages are commands too: evalb, export, layers. Packages import only packages of an earlier group:
(common) (tracking origins encoding evalb results) (cleaning scoring figures) (pages export layers).
"""

import os
from pathlib import Path

import transformer  # noqa: F401  its start comes before all else

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _ask_loopback_directly() -> None:
    """Where the environment names a proxy, keep it from what runs on this machine, such as MLflow's server.

    Both spellings, as some programs read only one. Whatever the user has set stays.
    """
    if not any(value and name.lower().endswith("_proxy") for name, value in os.environ.items()):
        return  # on macOS a no_proxy alone would hide the proxy of the system's settings
    lower, upper = os.environ.get("no_proxy"), os.environ.get("NO_PROXY")
    for name, value in (("no_proxy", lower or upper), ("NO_PROXY", upper or lower)):
        hosts = [host.strip() for host in (value or "").split(",") if host.strip()]
        os.environ[name] = ",".join(hosts if "*" in hosts else dict.fromkeys([*hosts, *LOOPBACK]))


def _have_a_home() -> None:
    """Set HOME where a user id without a name has none, as MLflow asks for it: to the folder that the flow takes."""
    if os.path.expanduser("~") == "~":  # noqa: PTH111
        os.environ["HOME"] = str(Path(".prefect").resolve())


_ask_loopback_directly()
_have_a_home()
