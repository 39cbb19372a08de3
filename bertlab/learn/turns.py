"""Two ways of doing one thing, measured in turns.

A shared machine's speed drifts, so the ratio of neighbours holds where single figures do not. Knows nothing of what is
measured.
"""

import json
import resource
import statistics
import sys
from collections.abc import Callable

import torch
from tqdm import tqdm


def in_turns(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int, unit: str = "tokens_per_second", *, quiet: bool
) -> dict:
    """Let both run `rounds` times, one after the other.

    Args:
        ours, theirs: do their share and return how fast they were (more is better).

    Returns:
        the median speed of each, and the median, least and most of the ratios, turn by turn.
    """
    return compared([(ours(), theirs()) for _ in tqdm(range(rounds), "turns", disable=quiet)], unit)


def compared(rows: list[tuple[float, float]], unit: str = "tokens_per_second") -> dict:
    """(ours, theirs) of every turn -> medians and ratios.

    >>> compared([(30.0, 10.0), (20.0, 10.0), (44.0, 11.0)])["ratio"]
    3.0
    """
    ratios = sorted(a / b for a, b in rows)
    return {
        f"bertlab_{unit}": round(statistics.median(a for a, _ in rows)),
        f"transformers_{unit}": round(statistics.median(b for _, b in rows)),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_least": round(ratios[0], 2),
        "ratio_most": round(ratios[-1], 2),
    }


def peak_memory_mb(device: torch.device) -> int:
    """Of the whole process, both sides together."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)


def tell(found: dict, as_json: bool) -> None:
    """Print figures, one a line or as one JSON object."""
    if as_json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(
            f"{name.replace('_', ' '):32} {value:,}"
            if isinstance(value, int)
            else f"{name.replace('_', ' '):32} {value}"
        )
