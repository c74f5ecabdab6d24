"""What holds for all tests."""

import os

# Small tensors gain nothing from threads, and lose much where several processes share the cores. Children inherit it.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.update(DO_NOT_TRACK="1", DVC_NO_ANALYTICS="1", PREFECT_SERVER_ANALYTICS_ENABLED="false", HF_HUB_OFFLINE="1")
