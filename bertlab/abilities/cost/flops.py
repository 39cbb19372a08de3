"""Count the floating-point operations (FLOP) of matrix products by part; a multiply-add counts as two.

All other operations (softmax, GELU, LayerNorm, Adam) are left out, as in PyTorch's counter. Together they are less than
a hundredth of the FLOP. They still take time, because they read and write much memory.

Shape legend: X tokens of a batch, R positions of the last layer's output, P masked tokens, B sequences, T tokens of a
sequence, H hidden, F intermediate (feed-forward), V vocabulary, L layers.
"""

from collections.abc import Sequence

from bertlab.abilities.cost.parameters import NUM_LABELS, count_hidden_matrices
from bertlab.abilities.cost.workload import Workload
from bertlab.config.sparse import BlockAttention, WindowAttention

MUON_ITERATIONS = 5  # Newton-Schulz iterations in a step of Muon, see `training.muon.ITERATIONS`
# The FLOP of the attention scores in the backward pass, divided by their FLOP in the forward pass. The forward pass
# computes two matrix products, the backward pass four; a fused kernel computes the scores again in the backward pass,
# which then has five (Dao et al. 2022, FlashAttention, arXiv 2205.14135, section 3.1).
FUSED_BACKWARD_FACTOR = 5 / 2
UNFUSED_BACKWARD_FACTOR = 4 / 2
# {name of a model: its attention}, as in `allenai/longformer-base-4096` and `google/bigbird-roberta-base`
SPARSE_ATTENTION = {
    "longformer": WindowAttention(windows=(512,)),
    "big-bird": BlockAttention(block_size=64, num_random_blocks=3),
}


def count_forward_flop(workload: Workload) -> dict[str, float]:
    """Count the FLOP of the forward pass of a training step, by part.

    The last layer projects its attention and computes its feed-forward only at the R positions whose hidden states an
    output layer reads (`FastBert.encode_positions`). The MLM layer is computed only at the P masked positions.

    Source: Kaplan et al. 2020, arXiv 2001.08361, table 1 (FLOP per token); the output layers here are those of BERT.

    Returns:
        {part: FLOP}; "attention-scores" is the part that grows with the square of the sequence length.
    """
    H, V = workload.config.hidden_size, workload.config.vocab_size
    B, P = workload.batch_size, workload.masked_tokens
    parts = _count_layers(workload, workload.output_positions)
    parts["pooler"] = 2 * B * H * H + 2 * B * H * NUM_LABELS
    if P:
        parts["mlm"] = 2 * P * H * H + 2 * P * H * V
    return parts


def _count_layers(workload: Workload, last_positions: int) -> dict[str, float]:
    """Count the FLOP of a forward pass through all layers.

    Args:
        workload: the model and its batch.
        last_positions: the number of positions at which the last layer computes its output.
    """
    config, X = workload.config, workload.batch_tokens
    H, F, L = config.hidden_size, config.intermediate_size, config.num_layers
    output_rows = (L - 1) * X + last_positions
    return {
        "attention-projections": 2 * L * X * 3 * H * H + 2 * output_rows * H * H,
        "attention-scores": 4 * L * X * workload.tokens * H,  # query times key, then weights times values
        "feed-forward": 4 * output_rows * H * F,
    }


def count_training_flop(workload: Workload) -> dict[str, float]:
    """Count the FLOP of a training step by part: forward pass, backward pass, recomputation and Muon.

    The backward pass has twice the FLOP of the forward pass, except for the attention scores.

    Returns:
        {part: FLOP}; "recompute" is the second forward pass of activation checkpointing, "optimizer" the matrix
        products of Muon.
    """
    forward = count_forward_flop(workload)
    parts = {name: 3 * flop for name, flop in forward.items()}
    parts["attention-scores"] = forward["attention-scores"] * (
        1 + (FUSED_BACKWARD_FACTOR if workload.has_fused_attention else UNFUSED_BACKWARD_FACTOR)
    )
    if workload.recompute:
        parts["recompute"] = sum(_count_layers(workload, workload.output_positions).values())
    if workload.optimizer == "muon":
        parts["optimizer"] = sum(
            count * MUON_ITERATIONS * (4 * short**2 * long + 2 * short**3)
            for (short, long), count in count_hidden_matrices(workload.config).items()
        )
    return parts


def count_inference_flop(workload: Workload) -> dict[str, float]:
    """Count the FLOP of predicting one masked token of each sequence; the last layer computes all positions."""
    config, X, B = workload.config, workload.batch_tokens, workload.batch_size
    H, V = config.hidden_size, config.vocab_size
    return _count_layers(workload, X) | {"mlm": 2 * B * H * H + 2 * B * H * V}


def find_break_even_length(workload: Workload) -> int:
    """Find the sequence length at which the attention scores of a layer take as many FLOP as its other matrix products.

    This length is 2 H + F.

    >>> from bertlab.config.presets import get_preset
    >>> find_break_even_length(Workload(get_preset("base")))
    4608
    """
    return 2 * workload.config.hidden_size + workload.config.intermediate_size


def count_score_flop(workload: Workload, lengths: Sequence[int]) -> dict[str, list[float]]:
    """Count the FLOP of the attention scores of one sequence in the forward pass, with full and with sparse attention.

    Args:
        workload: the workload, of which only the sizes of the model are used.
        lengths: the sequence lengths in tokens.

    Returns:
        {"tokens": lengths, "full": FLOP at each length}, and a list like "full" for each key of `SPARSE_ATTENTION`.

    >>> from bertlab.config.presets import get_preset
    >>> scores = count_score_flop(Workload(get_preset("base")), [4096])
    >>> [round(scores["full"][0] / scores[name][0], 1) for name in SPARSE_ATTENTION]
    [8.2, 6.6]
    """
    config = workload.config
    flop_per_pair = 4 * config.num_layers * config.hidden_size  # query times key, then weight times value
    columns = {"tokens": list(lengths), "full": [flop_per_pair * length**2 for length in lengths]}
    for name, attention in SPARSE_ATTENTION.items():
        columns[name] = [flop_per_pair * attention.count_pairs(length) for length in lengths]
    return columns
