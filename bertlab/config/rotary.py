"""Rotary positions and local attention: settings, and their fields in a `config.json` of ModernBERT.

Source: `ModernBertConfig` in `transformers`, whose fields differ between versions 4 and 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bertlab.config.errors import CheckpointError


@dataclass(frozen=True)
class RotaryAttention:
    """The settings of a model with rotary positions, in which most layers attend to nearby tokens only."""

    window: int = 128
    """Width of the window of local layers: a token attends to the `window // 2` tokens on each side of it."""
    global_every: int = 3
    """The first layer and every `global_every`-th layer after it attend to all tokens; the others are local."""
    global_theta: float = 160_000.0
    """Base of the wavelengths in layers that attend to all tokens (Su et al. 2021, arXiv 2104.09864, section 3.2.2)."""
    local_theta: float = 10_000.0  # base of the wavelengths in local layers

    def is_local(self, layer: int) -> bool:
        """Whether a layer attends to nearby tokens only.

        >>> [RotaryAttention().is_local(layer) for layer in range(4)]
        [False, True, True, False]
        """
        return layer % self.global_every > 0


def read_rotary(fields: Mapping) -> dict[str, RotaryAttention]:
    """Read the settings of a `config.json`, and return {"rotary": the value of this field of `ModelConfig`}."""
    default = RotaryAttention()
    parameters = fields.get("rope_parameters") or {}
    thetas = []
    for kind, old_name, default_theta in (
        ("full_attention", "global_rope_theta", default.global_theta),
        ("sliding_attention", "local_rope_theta", default.local_theta),
    ):
        row = (parameters.get(kind) if isinstance(parameters, Mapping) else None) or {}
        if not isinstance(row, Mapping) or row.get("rope_type", "default") != "default":
            raise CheckpointError("config-rotary-unsupported", name="rope_parameters")
        thetas.append(row.get("rope_theta", fields.get(old_name) or default_theta))
    types = fields.get("layer_types")
    global_every = fields.get("global_attn_every_n_layers") or default.global_every
    if isinstance(types, list) and types:
        # the distance from layer 0 to the next layer that attends to all tokens; all layers must repeat this pattern
        global_every = next(
            (layer for layer, kind in enumerate(types) if layer and kind == "full_attention"), len(types)
        )
        if any((kind != "full_attention") != (layer % global_every > 0) for layer, kind in enumerate(types)):
            raise CheckpointError("config-rotary-unsupported", name="layer_types")
    window = fields.get("local_attention") or default.window
    for name, value in (("global_attn_every_n_layers", global_every), ("local_attention", window)):
        if type(value) is not int or not 0 < value < 10**8:
            raise CheckpointError("config-rotary-unsupported", name=name)
    if any(type(theta) not in (int, float) or not 1 < theta < 1e12 for theta in thetas):
        raise CheckpointError("config-rotary-unsupported", name="rope_theta")
    return {"rotary": RotaryAttention(window, global_every, *map(float, thetas))}


def make_rotary_fields(rotary: RotaryAttention, num_layers: int) -> dict:
    """Make the fields of a `config.json`, under their names in versions 4 and 5 of `transformers`."""
    return {
        "local_attention": rotary.window,
        "global_attn_every_n_layers": rotary.global_every,
        "global_rope_theta": rotary.global_theta,
        "local_rope_theta": rotary.local_theta,
        "layer_types": [
            "sliding_attention" if rotary.is_local(layer) else "full_attention" for layer in range(num_layers)
        ],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": rotary.global_theta},
            "sliding_attention": {"rope_type": "default", "rope_theta": rotary.local_theta},
        },
    }
