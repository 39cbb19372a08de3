"""Make a deeper checkpoint from the layers of another one.

Run `python scripts/repeat_layers.py CHECKPOINT OUT 0 1 2 2 3 3`. Each number is the layer of CHECKPOINT that is copied
to the next layer of OUT. Further pre-training starts from a better loss than with random weights (compare Gong et al.
2019, Efficient Training of BERT by Progressively Stacking).
"""

import sys
from collections.abc import Sequence

import torch

from bertlab.checkpoints import checkpoint
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert

LAYERS = "encoder.layers."


def repeat_layers(model: Bert, layers: Sequence[int]) -> Bert:
    """Return a model with copies of some layers of another model, and with all other weights of that model.

    Args:
        model: the model, which is not changed.
        layers: for each layer of the result the index of the layer of `model` to copy.
    """
    repeated = FastBert(model.config.replace(num_layers=len(layers)), heads=model.head_names)
    weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith(LAYERS)}
    for index, source in enumerate(layers):
        prefix = f"{LAYERS}{source}."
        weights |= {
            f"{LAYERS}{index}.{name.removeprefix(prefix)}": weight
            for name, weight in model.state_dict().items()
            if name.startswith(prefix)
        }
    repeated.load_state_dict(weights)
    return repeated.eval()


def main() -> None:
    """Write the checkpoint."""
    source, out, *layers = sys.argv[1:]
    loaded = checkpoint.load(source)
    record = loaded.record | {"from": f"{source}, layers {' '.join(layers)}", "validation": None}
    checkpoint.save(
        out, repeat_layers(loaded.model, list(map(int, layers))), loaded.tokenizer, record, dtype=torch.float32
    )


if __name__ == "__main__":
    main()
