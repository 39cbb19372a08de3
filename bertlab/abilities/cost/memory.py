"""Compute the memory of training and of inference by part, in bytes, as bertlab allocates it.

The peak is at one of three moments of a step: at the end of the forward pass (all activations are stored), in the
backward pass, or in the update of the weights. Python, PyTorch and its libraries are not included.

Shape legend: X tokens of a batch, R positions of the last layer's output, P masked tokens, B sequences, T tokens of a
sequence, N heads, H hidden, F intermediate (feed-forward), V vocabulary, L layers.
"""

from dataclasses import dataclass

from bertlab.abilities.cost.parameters import count_hidden_matrices, count_parameters
from bertlab.abilities.cost.workload import Workload

FLOAT32_BYTES = 4  # of one value
# Rows of logits whose softmax is computed at once in float32, see `nn.fast.cross_entropy`.
LOGIT_ROWS = {"cpu": 64, "gpu": 4096}
# The number of tensors [X, H] that the backward pass of one layer needs besides the stored activations: with attention
# as one (fused) kernel, and with attention as separate operations.
FUSED_BACKWARD_TENSORS, BACKWARD_TENSORS = 4, 8
# {precision: bytes of the buffers that the CPU's library of matrix products (oneDNN) keeps}; fitted to measurements
# (docs/lab-notebook.md).
KERNEL_BYTES = {"bfloat16": 30_000_000, "float32": 5_000_000}
LENGTH_STEP = 32  # bfloat16 attention on a CPU pads sequences to a multiple of this


@dataclass(frozen=True)
class Memory:
    """The memory at the moment of a step when it is largest."""

    moment: str
    """The moment: "forward", "backward" or "update" of a training step, or "inference"."""
    parts: dict[str, int]
    """{part: bytes}."""

    @property
    def total(self) -> int:
        """The bytes of all parts."""
        return sum(self.parts.values())


def compute_training_memory(workload: Workload) -> Memory:
    """Compute the peak memory of a training step by part.

    Weights are float32; in bfloat16 there is a copy of them for the computation, and the gradients exist in both types
    (`training.optimizers.Optimizer`).

    Source: Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054, section 3.1, for mixed precision with Adam.
    """
    size = workload.bytes_per_value
    parameters = sum(count_parameters(workload.config, workload.heads).values())
    is_mixed = workload.precision == "bfloat16"
    weights = parameters * (FLOAT32_BYTES + (size if is_mixed else 0))
    # in mixed precision, the float32 gradients of the previous step stay allocated
    kept_gradients = parameters * FLOAT32_BYTES if is_mixed else 0
    optimizer = count_optimizer_bytes(workload)
    decoder_gradient = workload.config.vocab_size * workload.config.hidden_size * size if workload.masked_tokens else 0
    activations, recomputed = count_activation_bytes(workload)
    kernels = KERNEL_BYTES[workload.precision] if workload.device == "cpu" else 0

    def add_up(moment: str, gradients: int, activations: int, logits: int) -> Memory:
        """Add up the memory at one moment; the arguments are the bytes that differ between the moments."""
        parts = {"weights": weights, "gradients": kept_gradients + gradients, "optimizer": optimizer}
        return Memory(moment, parts | {"activations": activations, "logits": logits, "kernels": kernels})

    tensors = FUSED_BACKWARD_TENSORS if workload.has_fused_attention else BACKWARD_TENSORS
    backward_tensors = tensors * workload.batch_tokens * workload.config.hidden_size * size
    moments = [
        # the gradient of the decoder is computed with the loss, see `nn.fast.cross_entropy`
        add_up("forward", 0, activations, decoder_gradient + count_logit_bytes(workload)),
        add_up("backward", 0, activations + recomputed + backward_tensors, decoder_gradient),
        # finally, the gradients of the decoder and of the token embeddings are added: they use the same matrix
        add_up("backward", parameters * size, 0, 2 * decoder_gradient),
        add_up("update", parameters * size, 0, 0),
    ]
    moments[-1].parts["optimizer"] += _count_update_bytes(workload)
    return max(moments, key=lambda memory: memory.total)


def count_optimizer_bytes(workload: Workload) -> int:
    """Count the bytes of the optimiser state.

    There are two float32 values for each weight, but only one for each weight of a matrix that Muon updates.
    """
    parameters = sum(count_parameters(workload.config, workload.heads).values())
    matrices = sum(short * long * count for (short, long), count in count_hidden_matrices(workload.config).items())
    muon_parameters = matrices if workload.optimizer == "muon" else 0
    return FLOAT32_BYTES * (2 * (parameters - muon_parameters) + muon_parameters)


def _count_update_bytes(workload: Workload) -> int:
    """Count the temporary bytes of an update: Muon orthogonalises all matrices of one size together, AdamW needs none.

    Source: `training.muon.Muon._update`; at its peak there are four tensors of the matrices' size.
    """
    if workload.optimizer != "muon":
        return 0
    size = workload.bytes_per_value
    return max(
        count * (short * long * (2 * FLOAT32_BYTES + 2 * size) + (2 * short**2 * size if size == FLOAT32_BYTES else 0))
        for (short, long), count in count_hidden_matrices(workload.config).items()
    )


def count_logit_bytes(workload: Workload) -> int:
    """Count the bytes of the logits of the masked tokens, and of the float32 softmax of some of their rows."""
    V, P = workload.config.vocab_size, workload.masked_tokens
    softmax_rows = min(P, LOGIT_ROWS[workload.device]) if workload.precision == "bfloat16" else 0
    return P * V * workload.bytes_per_value + softmax_rows * V * FLOAT32_BYTES


def count_activation_bytes(workload: Workload) -> tuple[int, int]:
    """Count the bytes of activations that the forward pass stores for the backward pass.

    Returns:
        The bytes that are stored until the backward pass, and the bytes of the activations that the backward pass
        computes again and holds at the same time (0 without activation checkpointing).

    Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4, adapted to the tensors that `nn.fast.model` stores.
    """
    config, X, R = workload.config, workload.batch_tokens, workload.output_positions
    H, F, L = config.hidden_size, config.intermediate_size, config.num_layers
    dropout, scores = _count_dropout_values(workload), _count_score_values(workload)
    # Values that a layer stores for each token. Before it has computed its attention output: input, query, key, value.
    # After that: attention output, two residual sums, output of the first LayerNorm, and the input and output of GELU.
    before_output, after_output = 4 * H, 4 * H + 2 * F
    layer = X * (before_output + after_output + dropout * 2 * H) + scores
    last = X * before_output + R * (after_output + dropout * 2 * H) + scores
    if workload.has_fused_attention:
        last += X * H  # a fused kernel stores the attention output at all positions
    embeddings = X * H * (1 + dropout)
    outputs = workload.masked_tokens * 4 * H + workload.batch_size * 3 * H
    stored = (L - 1) * layer + last
    recomputed = 0.0
    if workload.recompute:
        stored, recomputed = L * X * H, max(layer if L > 1 else 0, last)
    size = workload.bytes_per_value
    return round(size * (stored + embeddings + outputs)), round(size * recomputed)


def _count_dropout_values(workload: Workload) -> float:
    """Compute how much memory dropout needs for each value that it changes, as a multiple of the size of a value.

    On a CPU it stores a factor, which is as large as a value, on a GPU one byte.
    """
    if not workload.dropout:
        return 0.0
    return 1.0 if workload.device == "cpu" else 1 / workload.bytes_per_value


def _count_score_values(workload: Workload) -> float:
    """Compute the size of the attention scores that a layer stores, as a multiple of the size of a value.

    If attention is not one (fused) kernel, this size grows with the square of the sequence length.
    """
    B, N, T = workload.batch_size, workload.config.num_heads, workload.tokens
    if workload.has_fused_attention:
        return B * N * T * FLOAT32_BYTES / workload.bytes_per_value  # the sum of exponentials of each row, in float32
    if workload.precision == "bfloat16":
        padded = -(-T // LENGTH_STEP) * LENGTH_STEP
        return (2 if workload.dropout else 1) * B * N * padded**2
    return 3 * B * N * T**2  # weights before and after dropout, and its factor


def compute_inference_memory(workload: Workload) -> Memory:
    """Compute the peak memory of predicting one masked token of each sequence, without gradients.

    Only one layer's activations exist at a time: its hidden states, and those of its attention or its feed-forward
    network, whichever are larger.
    """
    config, X, B = workload.config, workload.batch_tokens, workload.batch_size
    H, F, size = config.hidden_size, config.intermediate_size, workload.bytes_per_value
    parameters = sum(count_parameters(config, workload.heads).values())
    padded = -(-workload.tokens // LENGTH_STEP) * LENGTH_STEP
    is_fused = workload.device == "gpu" or workload.precision == "float32"
    scores = 0 if is_fused else B * config.num_heads * padded**2
    attention = X * (4 * H if is_fused else 8 * H) + scores
    feed_forward = X * (H + 2 * F)
    activations = X * H + max(attention, feed_forward)  # the embeddings' output stays until the last layer
    logits = B * config.vocab_size if workload.task == "pretraining" else 0
    parts = {"weights": parameters * size, "activations": size * activations, "logits": size * logits}
    return Memory("inference", parts)
