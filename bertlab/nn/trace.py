"""What one forward pass computed, for those who ask.

A `Trace` is handed to the model as an argument and filled on the way; it is no hook and no attribute of a module, so
one model can serve many threads. It knows nothing of text.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, L layers.
"""

from dataclasses import dataclass, field

import torch

# kind -> what is recorded
KINDS = {
    "embeddings": "token_BTH, position_BTH, token_type_BTH and their normalised sum, in that order (4 tensors)",
    "hidden": "the embedding output, then every layer's output: L + 1 tensors [B, T, H]",
    "query": "per layer [B, N, T, D]",
    "key": "per layer [B, N, T, D]",
    "value": "per layer [B, N, T, D]",
    "scores": "query . key / sqrt(D), padding at -inf: per layer [B, N, T, T]",
    "probs": "attention probabilities: per layer [B, N, T, T]",
    "head_outputs": "probs @ value, before the output projection: per layer [B, N, T, D]",
}


@dataclass
class Trace:
    """Collects the kinds it was made for.

    >>> trace = Trace.of("probs", "hidden")
    >>> trace.wants("probs"), trace.wants("query")
    (True, False)
    """

    records: dict[str, list[torch.Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, *kinds: str) -> "Trace":
        unknown = [kind for kind in kinds if kind not in KINDS]
        assert not unknown, f"unknown kinds {unknown}; there are {list(KINDS)}"
        return cls({kind: [] for kind in kinds})

    def wants(self, *kinds: str) -> bool:
        """Whether any of these kinds is asked for."""
        return any(kind in self.records for kind in kinds)

    def record(self, kind: str, tensor: torch.Tensor) -> None:
        if kind in self.records:
            self.records[kind].append(tensor.detach())

    def __getitem__(self, kind: str) -> list[torch.Tensor]:
        return self.records[kind]
