"""What a training cost: device-hours, and money at the reader's prices."""

from typing import Any

from tasks.common.document import Cell
from tasks.common.settings import Prices


def device_hours(training: dict[str, Any]) -> float:
    """Hours of the updates x devices; as if all of it ran on the last machine, which `papers_cost` takes too."""
    return float(training["seconds"] * training["made_by"][-1]["machine"]["devices"] / 3600)


def price(training: dict[str, Any], prices: Prices | None) -> Cell:
    """Device-hours x the price of the device, such as "0.35 USD"; "no price" if params.yaml has none for it."""
    device = training["made_by"][-1]["machine"]["device"]
    rates = [rate for name, rate in prices.per_device_hour.items() if name in device] if prices else []
    if not rates or prices is None:
        return Cell("no price", blank=True)
    cost = device_hours(training) * rates[0]
    return Cell(f"{cost:,.2f} {prices.currency}" if cost >= 1 else f"{cost:.2g} {prices.currency}", cost)
