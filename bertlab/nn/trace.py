"""Record the intermediate tensors of one forward pass, as its argument, so that one model can serve many threads.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, L layers.
"""

from dataclasses import dataclass, field

import torch

# Kind of tensor -> the tensors that are recorded.
KINDS = {
    "embeddings": "token_BTH, position_BTH, token_type_BTH and their normalised sum, in that order (4 tensors)",
    "hidden": "the embeddings, then every layer's output: L + 1 tensors [B, T, H]",
    "query": "L tensors [B, N, T, D]",
    "key": "L tensors [B, N, T, D]",
    "value": "L tensors [B, N, T, D]",
    "scores": "query . key / sqrt(D), -inf where a key is masked: L tensors [B, N, T, T]",
    "probs": "attention probabilities: L tensors [B, N, T, T]",
    "head_outputs": "probs @ value, before the output projection: L tensors [B, N, T, D]",
}


@dataclass
class Trace:
    """The recorded tensors of one forward pass: only the kinds that are passed to `Trace.of`.

    >>> trace = Trace.of("probs", "hidden")
    >>> trace.is_recording("probs"), trace.is_recording("query")
    (True, False)
    """

    records: dict[str, list[torch.Tensor]] = field(default_factory=dict)  # kind -> its tensors in order, detached

    @classmethod
    def of(cls, *kinds: str) -> "Trace":
        """Make an empty trace that records these kinds, keys of `KINDS`."""
        unknown = [kind for kind in kinds if kind not in KINDS]
        assert not unknown, f"unknown kinds of tensor {unknown}; KINDS has {list(KINDS)}"
        return cls({kind: [] for kind in kinds})

    def is_recording(self, kind: str) -> bool:
        return kind in self.records

    def record(self, kind: str, *tensors: torch.Tensor) -> None:
        if kind in self.records:
            self.records[kind] += [tensor.detach() for tensor in tensors]

    def __getitem__(self, kind: str) -> list[torch.Tensor]:
        return self.records[kind]


NO_TRACE = Trace()  # records nothing
