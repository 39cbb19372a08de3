"""Show a run in the terminal: a bar with loss, metric, tokens per second and remaining time, and the final metrics."""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tqdm import tqdm

from bertlab.training import distributed
from bertlab.training.trainer import StepReport

# A progress bar around the iterable of a long evaluation.
evaluation_bar = partial(
    tqdm, desc="evaluating", leave=False, bar_format="{desc} {percentage:5.1f}%|{bar}| {elapsed}<{remaining}"
)

# A progress bar around the steps in which an ONNX file is written.
onnx_bar = partial(tqdm, desc="writing", leave=False, bar_format="{desc} {percentage:5.1f}%|{bar}| {elapsed}")


def show_progress(reports: Iterable[StepReport], metric: str, label: str) -> None:
    """Run training to its end with a progress bar that shows the metric under this label.

    "error" (of regression) is shown as a number, any other metric as a percentage.
    """
    bar = mean_loss = mean_metric = None
    try:
        for report in reports:
            # The bar appears with the first report, so that an error at start-up is not printed below an empty bar.
            if bar is None:
                bar = tqdm(
                    total=1.0,
                    # The remaining time of a resumed run is estimated from the steps since it was resumed.
                    initial=report.progress,
                    disable=not distributed.is_main_process(),
                    bar_format="{percentage:5.1f}%|{bar}| {elapsed}<{remaining} {postfix}",
                )
            value = report.metrics[metric]
            # These are averages over about the last twenty steps, because single steps vary too much.
            mean_loss = report.loss if mean_loss is None else 0.95 * mean_loss + 0.05 * report.loss
            mean_metric = value if mean_metric is None else 0.95 * mean_metric + 0.05 * value
            metric_text = f"{mean_metric:.2f}" if metric == "error" else f"{mean_metric:.0%}"
            bar.set_postfix_str(
                f"step {report.step:,}, loss {mean_loss:.3f}, {label} {metric_text}, "
                f"{report.tokens / report.seconds:,.0f} tokens/s",
                refresh=False,
            )
            bar.update(report.progress - bar.n)
        if bar is not None:
            bar.n = 1.0  # a report's progress does not include its own step, so the bar would stop short of 100 %
    finally:
        if bar is not None:
            bar.close()


def print_result(checkpoint: Path, *, decimals: int) -> None:
    """Print the path, steps, tokens and metrics of a trained checkpoint; only the main process prints."""
    if not distributed.is_main_process():
        return
    record = json.loads((checkpoint / "bertlab.json").read_text(encoding="utf-8"))
    print(f"{checkpoint}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.{decimals}f}" if isinstance(value, float) else f"  {name:20} {value:,}")
