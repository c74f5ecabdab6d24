"""The typed settings of a model, its training and its search. None has a default but those that came later.

A wrong type or an unknown key is an error of pydantic's, which names the key.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """Some settings that belong together: immutable, no unknown keys, no silent conversions, every number finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class TextSettings(Settings):
    """What is done to text before sub-words, on both sides alike; it belongs to a model as its sub-words do."""

    lowercase: bool = Field(description="what is lower-cased stays so: nothing restores case in an output")
    tokenise: Literal["none", "moses"] = Field(description="moses: sacremoses, hyphens not split, nothing escaped")
    # With a default, so that model folders from before this setting still load.
    trees: Literal["vinyals", "tensor2tensor", "words"] | None = Field(
        default=None, description="the target is trees, written as sequences in this form (transformer/text/trees.py)"
    )


class ModelSettings(Settings):
    """The shape of the model, in the names of Table 3 of the paper."""

    layers: int = Field(ge=1, description="N: encoder layers, and as many decoder layers")
    d_model: int = Field(ge=2, multiple_of=2)
    d_ff: int = Field(ge=1)
    heads: int = Field(ge=1)
    d_k: int = Field(ge=1)
    d_v: int = Field(ge=1)
    dropout: float = Field(ge=0, lt=1, description="P_drop, section 5.4: of sub-layer outputs and embeddings")
    attention_dropout: float = Field(ge=0, lt=1, description="of attention weights; none in the paper's translation")
    activation_dropout: float = Field(ge=0, lt=1, description="behind the ReLU; none in the paper")
    normalisation: Literal["post", "pre"] = Field(
        description="post: LayerNorm(x + Sublayer(x)), section 3.1; pre: x + Sublayer(LayerNorm(x))"
    )
    positions: Literal["sinusoidal", "concatenated", "learned"] = Field(
        description="section 3.5; concatenated: all sines before all cosines, as in the released code"
    )


class TrainingSettings(Settings):
    """How a model is trained (section 5). Lengths of time are counted in updates, sizes in tokens."""

    updates: int = Field(ge=1)
    tokens_per_update: int = Field(
        ge=1, description="the batch of all devices: about so many source and so many target tokens, without padding"
    )
    lengths_per_update: int = Field(
        ge=1,
        description="of pairs in one update: the paper's batches are of one; more where each GPU drew its own batch",
    )
    tokens_per_device: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        description="a device takes at most so many of each at once, padding counted; accumulation follows"
    )
    warmup: int = Field(ge=1, description="updates over which the rate rises, section 5.3")
    learning_rate_factor: float = Field(gt=0, description="1.0 is the paper's schedule")
    beta2: float = Field(gt=0, lt=1, description="Adam's; the paper has 0.98")
    label_smoothing: float = Field(ge=0, lt=1)
    # With a default, so that trainings from before this setting remain what they are.
    bpe_dropout: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="each time a pair is seen, each merge of its words is left out with this probability; batches are "
        "planned on the lengths without it, so a device must have room for more than tokens_per_device",
    )
    precision: Literal["fp32", "bf16"] = Field(description="of matrix products, where the hardware has it")
    compile: bool = Field(description="torch.compile the model; needs a C++ compiler on a CPU")
    snapshot_every: int = Field(
        ge=1, description="updates between the weights kept for averaging, counted back from the last update"
    )
    keep_snapshots: int = Field(ge=1)
    validate_every: int = Field(ge=1, description="updates")
    seed: int = Field(ge=0)


class SearchSettings(Settings):
    """Beam search (section 6.1)."""

    beam: int = Field(ge=1)
    penalty: Literal["paper", "length"] = Field(
        description="a score is divided by ((5 + |Y|) / 6) ** length_penalty, or by |Y| ** length_penalty"
    )
    length_penalty: float = Field(ge=0, description="the exponent, alpha in the paper; 0 leaves plain sums")
    extra_length: int = Field(ge=1, description="an output has at most this many tokens more than its input")
    # With a default, so that model folders from before this setting still load.
    ends_within_beam: bool = Field(
        default=False,
        description="an output ends only where its end symbol is among the `beam` best candidates of a step, as in "
        "fairseq, transformers and CTranslate2; otherwise among twice as many, as in the released code",
    )
