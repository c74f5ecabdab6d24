"""What a training cost, from its facts and the reader's prices."""

from typing import Any

import pytest

from tasks.common.settings import Prices
from tasks.results.costs import device_hours, price

PRICES = Prices(currency="EUR", per_device_hour={"Some GPU 80GB": 3.0, "Some GPU": 1.5, "processor": 0.001})


def training(device: str, **others: Any) -> dict[str, Any]:
    older = {"machine": {"device": "a slow one", "devices": 1}}
    return {"seconds": 7200.0, "made_by": [older, {"machine": {"device": device, "devices": 8}}], **others}


def test_device_hours_are_hours_times_devices() -> None:
    assert device_hours(training("Some GPU")) == 16.0


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("NVIDIA Some GPU", "24.00 EUR"),
        ("NVIDIA Some GPU 80GB", "48.00 EUR"),
        ("a processor, 2 thread(s)", "0.016 EUR"),
        ("another", "no price"),
    ],
)
def test_the_price_is_that_of_the_first_name_that_is_part_of_the_devices(device: str, expected: str) -> None:
    assert price(training(device), PRICES).text == expected


def test_without_prices_there_is_none() -> None:
    assert price(training("Some GPU"), None).text == "no price"
