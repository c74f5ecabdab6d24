"""Prefect: decides when and where the stages of dvc.yaml run."""

import os

from flows.start import ask_loopback_directly, name_the_user, open_missing_streams, write_no_bytecode

write_no_bytecode()
open_missing_streams()
name_the_user()
ask_loopback_directly()
# Read by the tools as they are imported and inherited by every stage: nothing is reported to anyone unless asked for.
for name, value in {
    "DO_NOT_TRACK": "1",
    "DVC_NO_ANALYTICS": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}.items():
    os.environ.setdefault(name, value)
