"""Count the parameters of a BERT by part, from its sizes alone.

Shape legend: H hidden, F intermediate (feed-forward), V vocabulary, L layers.
"""

from collections.abc import Iterable

from bertlab.config.config import ModelConfig

NUM_LABELS = 2  # labels of the classification that a fine-tuning workload trains


def count_parameters(config: ModelConfig, heads: Iterable[str] = ("mlm", "nsp")) -> dict[str, int]:
    """Count the parameters of each part.

    Args:
        config: the sizes of the model.
        heads: the output layers: mlm, nsp or classify. The decoder of mlm is the table of token embeddings, which is
            counted once.

    Returns:
        {part: number of parameters}; weights and biases are counted together.

    Source: Devlin et al. 2019, section 3; Vaswani et al. 2017, sections 3.2 and 3.3.

    >>> from bertlab.config.presets import get_preset
    >>> sum(count_parameters(get_preset("base"), ()).values())  # the encoder with its pooler
    109482240
    """
    H, F, V, L = config.hidden_size, config.intermediate_size, config.vocab_size, config.num_layers
    norm = 2 * H
    parts = {
        "token-embeddings": V * H,
        "position-embeddings": config.max_positions * H,
        "segment-embeddings": config.type_vocab_size * H,
        "attention": L * 4 * (H * H + H),
        "feed-forward": L * (2 * H * F + F + H),
        "layer-norms": norm + L * 2 * norm,
        "pooler": H * H + H,
    }
    sizes = {"mlm": H * H + H + norm + V, "nsp": 2 * H + 2, "classify": NUM_LABELS * H + NUM_LABELS}
    return parts | {head: sizes[head] for head in heads}


def count_hidden_matrices(config: ModelConfig) -> dict[tuple[int, int], int]:
    """Count the matrices inside the layers by their size (shorter, longer side); Muon updates these.

    >>> from bertlab.config.presets import get_preset
    >>> count_hidden_matrices(get_preset("tiny"))
    {(128, 128): 8, (128, 512): 4}
    """
    H, F, L = config.hidden_size, config.intermediate_size, config.num_layers
    sizes: dict[tuple[int, int], int] = {}
    for size, count in (((H, H), 4 * L), ((min(H, F), max(H, F)), 2 * L)):  # query, key, value and output; up and down
        sizes[size] = sizes.get(size, 0) + count
    return sizes
