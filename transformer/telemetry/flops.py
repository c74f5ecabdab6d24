"""Floating-point operations of training, counted from the sizes of the matrices that are multiplied.

A product of [a, b] and [b, c] is 2abc operations. The backward pass has two such products for each of the forward
pass, hence the factor 3. Soft-max, normalisation and the optimizer are left out, as is usual. Padding is counted: it
is multiplied.
"""

from transformer.batches import Batch
from transformer.settings import ModelSettings


def batch_flops(settings: ModelSettings, vocabulary: int, batch: Batch) -> float:
    """Operations of one forward and backward pass over a batch."""
    rows, source = batch.source_BS.shape
    target = batch.target_BT.shape[1]
    return 3 * forward_flops(settings, vocabulary, rows, source, target, batch.target_tokens)


def forward_flops(
    settings: ModelSettings, vocabulary: int, rows: int, source: int, target: int, predicted: int
) -> float:
    """Operations of one forward pass.

    Args:
        settings: the model's shape.
        vocabulary: the number of sub-words.
        rows: sentence pairs.
        source: padded length of the sources.
        target: padded length of the targets.
        predicted: target positions that reach the soft-max.
    """
    d, heads = settings.d_model, settings.heads
    query_key = 2 * d * heads * settings.d_k  # per position, each of W^Q and W^K
    value_output = 2 * d * heads * settings.d_v  # per position, each of W^V and W^O
    projections = 2 * query_key + 2 * value_output
    feed_forward = 4 * d * settings.d_ff
    look = 2 * heads * (settings.d_k + settings.d_v)  # per pair of positions: Q K^T and the weighted sum
    encoder = rows * source * (projections + feed_forward) + rows * source * source * look
    # Cross-attention has its queries and outputs at target, its keys and values at source positions.
    decoder = rows * target * (projections + query_key + value_output + feed_forward)
    decoder += rows * source * (query_key + value_output)
    decoder += rows * target * (target + source) * look
    return float(settings.layers * (encoder + decoder) + 2 * predicted * d * vocabulary)
