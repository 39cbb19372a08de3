"""Several ways of doing one thing, measured in turns.

A shared machine's speed drifts, so the ratio of neighbours holds where single figures do not. Knows nothing of what is
measured.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from tqdm import tqdm

OURS = "bertlab"

Clock = Literal["wall", "processor"]
CLOCKS: dict[Clock, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


def in_turns(
    ours: Callable[[], float],
    peers: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "tokens_per_second",
    *,
    quiet: bool,
) -> dict:
    """Let all run `rounds` times, one after the other.

    Args:
        ours, peers: each does its share and returns how fast it was (more is better).

    Returns:
        the median speed of each, and for each peer the median, least and most of our ratio to it, turn by turn.
    """
    turns = [[way() for way in (ours, *peers.values())] for _ in tqdm(range(rounds), "turns", disable=quiet)]
    return compared(turns, tuple(peers), unit)


def compared(
    turns: Sequence[Sequence[float]], peers: Sequence[str] = ("transformers",), unit: str = "tokens_per_second"
) -> dict:
    """What ours and each of the peers reached in every turn -> medians and ratios; the first peer's is called "ratio".

    >>> compared([(30.0, 10.0), (20.0, 10.0), (44.0, 11.0)])["ratio"]
    3.0
    """
    speeds = list(zip(*turns, strict=True))
    named = zip((OURS, *peers), speeds, strict=True)
    found: dict = {f"{name}_{unit}": round(statistics.median(own)) for name, own in named}
    for number, (peer, theirs) in enumerate(zip(peers, speeds[1:], strict=True)):
        ratios = sorted(a / b for a, b in zip(speeds[0], theirs, strict=True))
        name = f"ratio_to_{peer}" if number else "ratio"
        found |= {name: round(statistics.median(ratios), 2)}
        found |= {f"{name}_least": round(ratios[0], 2), f"{name}_most": round(ratios[-1], 2)}
    return found


def peak_memory_mb(device: torch.device) -> int:
    """Of the whole process, all sides together."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) >> 20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)


class Memory:
    """Made after our first turn and before the peer is: parts what each side needs at most. A processor's is that of
    the whole process, with Python and its libraries, first with our model alone and then with both."""

    def __init__(self, device: torch.device):
        self.device, self.ours = device, peak_memory_mb(device)
        if device.type == "cuda":
            self.held = torch.cuda.memory_allocated(device) >> 20
            torch.cuda.reset_peak_memory_stats(device)

    def told(self) -> dict:
        """Figures for a table, after the peer's first turn and before our next."""
        peak = peak_memory_mb(self.device)
        if self.device.type != "cuda":
            return {"bertlab_peak_memory_mb": self.ours, "both_peak_memory_mb": peak}
        return {"bertlab_peak_memory_mb": self.ours, "transformers_peak_memory_mb": peak - self.held}


def tell(found: dict, as_json: bool) -> None:
    """Print figures, one a line or as one JSON object."""
    if as_json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):40} {f'{value:,}' if isinstance(value, int) else value}")
