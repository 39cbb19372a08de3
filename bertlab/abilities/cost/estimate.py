"""Estimate everything that a workload costs, and how the cost grows with the sequence length."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bertlab.abilities.cost.flops import count_forward_flop, count_inference_flop, count_training_flop
from bertlab.abilities.cost.memory import Memory, compute_inference_memory, compute_training_memory
from bertlab.abilities.cost.parameters import count_parameters
from bertlab.abilities.cost.workload import Workload


@dataclass(frozen=True)
class Cost:
    """What a workload costs."""

    workload: Workload
    """The model and its batches."""
    parameters: dict[str, int]
    """{part: the number of its parameters}."""
    forward_flop: dict[str, float]
    """{part: FLOP of the forward pass of a training step}."""
    training_flop: dict[str, float]
    """{part: FLOP of a training step}."""
    inference_flop: dict[str, float]
    """{part: FLOP of predicting one masked token in each sequence of a batch}."""
    training_memory: Memory
    """The peak memory of a training step."""
    inference_memory: Memory
    """The peak memory of predicting one masked token in each sequence of a batch."""

    @property
    def num_parameters(self) -> int:
        """The number of parameters."""
        return sum(self.parameters.values())

    @property
    def flop_per_step(self) -> float:
        """The FLOP of a training step."""
        return sum(self.training_flop.values())


def estimate(workload: Workload) -> Cost:
    """Estimate what a workload costs."""
    return Cost(
        workload,
        count_parameters(workload.config, workload.heads),
        count_forward_flop(workload),
        count_training_flop(workload),
        count_inference_flop(workload),
        compute_training_memory(workload),
        compute_inference_memory(workload),
    )


def estimate_growth(workload: Workload, lengths: Sequence[int]) -> list[Cost]:
    """Estimate the cost of a workload at other sequence lengths, with the same number of sequences in a batch."""
    return [estimate(replace(workload, tokens=length)) for length in lengths]
