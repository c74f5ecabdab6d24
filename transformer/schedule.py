"""The learning rate of section 5.3."""


def learning_rate(update: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """The rate: factor * d_model^-0.5 * min(update^-0.5, update * warmup^-1.5) (equation 3).

    `update` counts applied updates from 1, so that no update has a rate of zero.
    """
    return float(factor * d_model**-0.5 * min(update**-0.5, update * warmup**-1.5))
