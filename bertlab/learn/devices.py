"""Where a run computes, and how that is told in a card. Knows no model."""

import platform

import torch

from bertlab.spec.errors import BertlabError


def resolve_device(name: str) -> torch.device:
    """`auto` is the first CUDA device, else the processor.

    Raises:
        BertlabError: no such device, or none at hand.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BertlabError(f"there is no device {name!r}; use cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BertlabError("no CUDA device is at hand; use --device cpu")
    return device


def hardware(device: torch.device) -> str:
    """What a run was made on, for its card."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} thread(s) of a {platform.machine()} processor"
