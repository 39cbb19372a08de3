"""Format the results of `bertlab cost` as lines for a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bertlab.abilities.cost.estimate import Cost
from bertlab.abilities.cost.figures import format_duration, format_money, format_quantity, name_part
from bertlab.abilities.cost.runs import Run
from bertlab.config.text_table import format_table
from bertlab.views.numbers import percent, signed

if TYPE_CHECKING:
    from bertlab.abilities.cost.measure import Comparison


# `Memory.moment`, the moment at which most memory is in use -> its description
_MOMENTS = {
    "forward": "at the end of the forward pass",
    "backward": "during the backward pass",
    "update": "during the update",
}


def cost_lines(cost: Cost) -> list[str]:
    """Return the parameters, FLOP and memory of a workload as lines: each total, followed by its parts."""
    blocks = {
        "parameters": (cost.parameters, ""),
        "FLOP of a forward pass": (cost.forward_flop, "FLOP"),
        "FLOP of a training step": (cost.training_flop, "FLOP"),
        f"peak memory of training ({_MOMENTS[cost.training_memory.moment]})": (cost.training_memory.parts, "B"),
        "FLOP of inference": (cost.inference_flop, "FLOP"),
        "memory of inference": (cost.inference_memory.parts, "B"),
    }
    rows = [row for title, (parts, unit) in blocks.items() for row in _part_rows(title, parts, unit)]
    return format_table(rows, "<>>")


def _part_rows(title: str, parts: Mapping[str, float], unit: str) -> list[tuple[str, str, str]]:
    """Make the rows (name, amount, share) of a total and of its parts."""
    total = sum(parts.values())
    rows = [(title, format_quantity(total, unit), "")]
    return rows + [
        (f"  {name_part(name)}", format_quantity(amount, unit), percent(amount / total))
        for name, amount in parts.items()
        if amount
    ]


def run_lines(runs: Sequence[Run], steps: int) -> list[str]:
    """Return the time and the price of a training run on each device as lines."""
    header = ("device", "peak", "fits into memory", "one step", f"{steps:,} steps", "price")
    rows = [
        (
            run.device, f"{format_quantity(run.peak_flops, 'FLOP')}/s", "yes" if run.fits else "no",
            format_duration(run.step_seconds), format_duration(run.seconds), format_money(run.dollars),
        )
        for run in runs
    ]  # fmt: skip
    return [
        *format_table([header, *rows], "<>>>>>"),
        "On T4 and V100, bertlab trains in float32, because these devices are not fast in bfloat16.",
    ]


def comparison_lines(comparison: "Comparison") -> list[str]:
    """Return a measured training step beside its estimate as lines."""
    measured = comparison.measured
    rows = [
        (f"measured on {measured.hardware}", "estimate", "measured", "error"),
        (
            "memory", format_quantity(comparison.estimated_bytes, "B"), format_quantity(measured.memory_bytes, "B"),
            f"{signed(100 * comparison.memory_error, 1)}%",
        ),
        (
            "time of a step", format_duration(comparison.estimated_seconds), format_duration(measured.seconds),
            f"{signed(100 * comparison.time_error, 1)}%",
        ),
        ("Python and libraries", "", format_quantity(measured.runtime_bytes, "B"), ""),
    ]  # fmt: skip
    return format_table(rows, "<>>>")
