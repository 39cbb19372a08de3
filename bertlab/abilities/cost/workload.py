"""The settings that decide what a model costs: its size, its batches, and how it is trained."""

from dataclasses import dataclass
from typing import Literal

from bertlab.abilities.cost.parameters import count_parameters
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError
from bertlab.config.limits import MAX_BATCH

Precision = Literal["float32", "bfloat16"]
Task = Literal["pretraining", "finetuning"]
Device = Literal["cpu", "gpu"]

MASKED_SHARE = 0.15  # share of the tokens that MLM predicts, see `text.pretraining.masking.MaskRule`
MAX_PARAMETERS = 10**13  # the largest number of parameters of a model
MAX_LENGTH = 2**20  # the largest number of tokens in a sequence
OPTIMIZER_NAMES = ("adamw", "muon")  # the optimisers whose cost can be estimated


@dataclass(frozen=True)
class Workload:
    """A model and the batches on which it is trained.

    Raises:
        BertlabError: a size of the model is below 1, the model has more than `MAX_PARAMETERS` parameters, a batch has
            no tokens or too many, or the optimiser is unknown.
    """

    model: ModelConfig
    """The model. Its position table grows with `tokens` if it is too short."""
    tokens: int = 128
    """Tokens in a sequence, without padding."""
    batch_size: int = 32
    """Sequences that are computed at once (a micro-batch, if gradients are accumulated)."""
    precision: Precision = "bfloat16"
    """The number format of the forward and backward pass. The optimiser always updates float32 weights."""
    optimizer: str = "adamw"
    """adamw or muon, as in `training.optimizers.OPTIMIZERS`."""
    dropout: float = 0.0
    """The dropout rate of attention and of hidden states."""
    recompute: bool = False
    """Activation checkpointing: store only the input of each layer, and compute the rest again in the backward pass
    (Chen et al. 2016, arXiv 1604.06174)."""
    task: Task = "pretraining"
    """pretraining (MLM and NSP) or finetuning (a classification with two labels)."""
    device: Device = "gpu"
    """Where the model is trained. The kernels of CPUs and GPUs store different activations."""

    def __post_init__(self):
        if not (1 <= self.tokens <= MAX_LENGTH and 1 <= self.batch_size <= MAX_BATCH):
            raise BertlabError("cost-batch-invalid", tokens=MAX_LENGTH, rows=MAX_BATCH)
        if min(self.model.num_layers, self.model.intermediate_size, self.model.vocab_size) < 1:
            raise BertlabError("cost-model-invalid")
        if sum(count_parameters(self.config, self.heads).values()) > MAX_PARAMETERS:
            raise BertlabError("cost-model-too-large", limit=f"{MAX_PARAMETERS:.0e}")
        if self.optimizer not in OPTIMIZER_NAMES:
            raise BertlabError("optimizer-unknown", name=self.optimizer, names=list(OPTIMIZER_NAMES))

    @property
    def config(self) -> ModelConfig:
        """The model with a position for each token, two labels and the dropout rate of the training."""
        return self.model.replace(
            max_positions=max(self.model.max_positions, self.tokens), labels=("0", "1"),
            hidden_dropout=self.dropout, attention_dropout=self.dropout,
        )  # fmt: skip

    @property
    def heads(self) -> tuple[str, ...]:
        """The output layers that the task trains, keys of `nn.heads.HEADS`."""
        return ("mlm", "nsp") if self.task == "pretraining" else ("classify",)

    @property
    def batch_tokens(self) -> int:
        """The number of tokens of a batch."""
        return self.batch_size * self.tokens

    @property
    def masked_tokens(self) -> int:
        """The number of tokens of a batch that MLM predicts; 0 in fine-tuning."""
        return self.batch_size * max(1, round(MASKED_SHARE * self.tokens)) if self.task == "pretraining" else 0

    @property
    def output_positions(self) -> int:
        """The number of positions with an output of the last layer: those of [CLS] and of the masked tokens."""
        return self.batch_size + self.masked_tokens

    @property
    def has_fused_attention(self) -> bool:
        """Whether attention is one kernel that stores no scores, see `nn.fast.attention` and `nn.fast.layouts`."""
        return self.device == "gpu" or (self.precision == "float32" and not self.dropout)

    @property
    def bytes_per_value(self) -> int:
        """The size of a value in the forward and backward pass, in bytes."""
        return 2 if self.precision == "bfloat16" else 4
