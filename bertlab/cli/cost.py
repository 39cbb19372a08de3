"""`bertlab cost`: the parameters, FLOP, memory, time and money of a BERT of any size."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from bertlab.abilities.cost.workload import Precision, Task
from bertlab.config.presets import PRESETS, get_preset

if TYPE_CHECKING:
    from bertlab.abilities.cost import Workload

Preset = Literal[tuple(PRESETS)]
OptionalCount = Annotated[int | None, tyro.conf.arg(metavar="INT")]


@dataclass(frozen=True)
class CostOptions:
    """Estimate what a BERT costs: parameters, FLOP, memory, time and money, for training and inference.

    The values are estimates for training with bertlab; training steps are run only with --measure. Inference is always
    the prediction of masked tokens.

    Examples:
      bertlab cost --preset base --tokens 512 --batch-size 32
      bertlab cost --preset large --tokens 512 --precision float32 --recompute
      bertlab cost --layers 6 --hidden 384 --attention-heads 12 --measure
    """

    preset: Preset = "base"
    """The size of the model. --layers, --hidden, --attention-heads and --intermediate change individual dimensions."""
    layers: OptionalCount = None
    """Number of layers, instead of the preset's."""
    hidden: OptionalCount = None
    """Hidden size, instead of the preset's."""
    attention_heads: OptionalCount = None
    """Attention heads per layer, instead of the preset's."""
    intermediate: OptionalCount = None
    """Width of the feed-forward layers. Default: four times the hidden size."""
    vocab_size: int = 30_522
    """Tokens in the vocabulary."""
    tokens: int = 128
    """Tokens in each sequence; the estimate assumes that there is no padding."""
    batch_size: int = 32
    """Sequences in a batch, which is computed at once, without gradient accumulation."""
    precision: Precision = "bfloat16"
    """Number format of the forward and backward pass."""
    optimizer: Annotated[str, tyro.conf.arg(metavar="NAME")] = "adamw"
    """The optimiser: adamw or muon."""
    dropout: float = 0.0
    """Dropout rate of attention and of hidden states."""
    recompute: bool = False
    """Use activation checkpointing: the backward pass computes each layer again, which saves memory."""
    task: Task = "pretraining"
    """pretraining (MLM and NSP) or finetuning (a classification)."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """The device to train on. The memory depends on it, because a CPU and a GPU store different activations. auto means
    a GPU if this machine has one, otherwise the CPU."""
    steps: int = 100_000
    """Training steps of the whole run."""
    peak_share: Annotated[float | None, tyro.conf.arg(metavar="NUMBER", aliases=("--share",))] = None
    """Share of the peak FLOP/s that training reaches. Default: 0.4 on GPUs; on a CPU it depends on the hidden size."""
    price: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Price of one device in US dollars per hour, for every device in the table that the command prints. Default: a
    rough estimate for each device."""
    measure: bool = False
    """Run three training steps on this machine, and show their memory and time beside the estimate."""
    json: bool = False
    """Print the result as one JSON object."""


def make_workload(config: CostOptions) -> "Workload":
    """Return the workload that the options describe.

    Raises:
        BertlabError: the sizes do not fit together, or are too large.
    """
    from bertlab.abilities.cost import Workload
    from bertlab.training.devices import resolve_device

    base = get_preset(config.preset)
    hidden = config.hidden or base.hidden_size
    model = base.replace(
        num_layers=config.layers or base.num_layers,
        hidden_size=hidden,
        num_heads=config.attention_heads or base.num_heads,
        intermediate_size=config.intermediate or (4 * hidden if config.hidden else base.intermediate_size),
        vocab_size=config.vocab_size,
    )
    device = config.device
    if device == "auto":
        device = "gpu" if resolve_device("auto").type == "cuda" else "cpu"
    return Workload(
        model, config.tokens, config.batch_size, config.precision, config.optimizer, config.dropout, config.recompute,
        config.task, device,
    )  # fmt: skip


def cost(config: CostOptions) -> None:
    """Print the estimate, and the measurement with `--measure`."""
    from bertlab.abilities.cost import estimate
    from bertlab.abilities.cost.hardware import GPU_SHARE, GPUS
    from bertlab.abilities.cost.runs import estimate_runs

    result = estimate(make_workload(config))
    runs = estimate_runs(
        result, config.steps, list(GPUS.values()), share=config.peak_share or GPU_SHARE, price=config.price
    )
    comparison = None
    if config.measure:
        from bertlab.abilities.cost.measure import compare_step

        comparison = compare_step(result.workload, share=config.peak_share)
    if config.json:
        output = asdict(result)
        for memory in ("training_memory", "inference_memory"):
            output[memory]["total"] = getattr(result, memory).total
        output |= {"num_parameters": result.num_parameters, "flop_per_step": result.flop_per_step}
        output["steps"] = config.steps
        output["gpus"] = {run.device: asdict(run) for run in runs}
        output |= {"measured": asdict(comparison)} if comparison else {}
        print(json.dumps(output))
        return
    from bertlab.abilities.cost.lines import comparison_lines, cost_lines, run_lines

    print("\n".join([*cost_lines(result), "", *run_lines(runs, config.steps)]))
    if comparison:
        print("\n".join(["", *comparison_lines(comparison)]))
