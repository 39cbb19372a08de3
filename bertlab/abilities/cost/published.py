"""What the BERT paper and Google's repository say about the cost of BERT, with our estimates to compare."""

from dataclasses import dataclass, replace

from bertlab.abilities.cost.estimate import estimate
from bertlab.abilities.cost.hardware import GIB
from bertlab.abilities.cost.memory import compute_training_memory
from bertlab.abilities.cost.workload import Precision, Workload
from bertlab.config.presets import get_preset

# {name of a source: its address}
PRETRAINING_SOURCES = {
    "Devlin et al. 2019, A.2": "https://arxiv.org/abs/1810.04805",
    "Cloud TPU v2": "https://cloud.google.com/tpu/docs/v2",
}
BATCH_SOURCES = {"google-research/bert, README": "https://github.com/google-research/bert#out-of-memory-issues"}
# The paper does not name the version of its TPUs; we assume v2, the version of that time, with 45 TFLOP/s per chip.
TPU_CHIP_FLOP_PER_SECOND = 45e12
# PAPER_STEPS is {tokens of a sequence: number of steps}: 90 % of the steps have short sequences. PAPER_BATCH is the
# number of sequences in a batch.
PAPER_STEPS, PAPER_BATCH = {128: 900_000, 512: 100_000}, 256
TITAN_X_GIB = 12  # memory of the GPU for which Google's repository lists the largest batches


@dataclass(frozen=True)
class PublishedPretraining:
    """The pre-training of the paper (appendix A.2), with our estimate of its FLOP."""

    preset: str
    """The preset with the size of the model, such as "base"."""
    chips: int
    """The number of TPU chips."""
    days: float
    """The duration in days."""

    @property
    def flop(self) -> float:
        """Our estimate of the FLOP of the whole pre-training, if bertlab computed it."""
        model = get_preset(self.preset)
        return sum(
            steps * estimate(Workload(model, length, PAPER_BATCH, dropout=0.1)).flop_per_step
            for length, steps in PAPER_STEPS.items()
        )

    @property
    def share_of_peak(self) -> float:
        """The share of their peak that the chips must reach to compute `flop` in the published number of days."""
        return self.flop / (self.chips * TPU_CHIP_FLOP_PER_SECOND * self.days * 86_400)


# (size of the model, TPU chips, days)
PRETRAINING = (PublishedPretraining("base", 16, 4), PublishedPretraining("large", 64, 4))


@dataclass(frozen=True)
class PublishedBatch:
    """The largest batch that Google's fine-tuning code fits into 12 GB, with our estimates for bertlab."""

    preset: str
    """The preset with the size of the model, such as "base"."""
    tokens: int
    """Tokens in a sequence."""
    batch_size: int
    """The largest batch of Google's code; 0 if not even one sequence fits."""

    def make_workload(self, precision: Precision) -> Workload:
        """Return the same fine-tuning in bertlab on a GPU, with one sequence where Google's code fits none."""
        return Workload(
            get_preset(self.preset), self.tokens, max(1, self.batch_size), precision, dropout=0.1, task="finetuning"
        )

    def find_largest_batch(self, precision: Precision) -> int:
        """Find the largest batch that fits into 12 GB by our estimate; 0 if not even one sequence does."""
        return find_largest_batch(self.make_workload(precision), TITAN_X_GIB * GIB)


# made from {size of the model: {tokens of a sequence: largest batch}}
BATCHES = tuple(
    PublishedBatch(name, tokens, batch_size)
    for name, sizes in {
        "base": {64: 64, 128: 32, 256: 16, 320: 14, 384: 12, 512: 6},
        "large": {64: 12, 128: 6, 256: 2, 320: 1, 384: 0, 512: 0},
    }.items()
    for tokens, batch_size in sizes.items()
)


def find_largest_batch(workload: Workload, limit_bytes: float, maximum: int = 1 << 16) -> int:
    """Find the largest batch size whose training fits into a number of bytes by our estimate, at most `maximum`.

    >>> find_largest_batch(Workload(get_preset("base")), 1e9)
    0
    """
    smallest, largest = 0, maximum
    while smallest < largest:
        middle = (smallest + largest + 1) // 2
        if compute_training_memory(replace(workload, batch_size=middle)).total <= limit_bytes:
            smallest = middle
        else:
            largest = middle - 1
    return smallest
