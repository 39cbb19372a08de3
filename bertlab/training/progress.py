"""The progress bars: a run's, with loss, tokens a second and time left, and a measurement's. Knows only reports."""

from collections.abc import Iterable
from functools import partial

from tqdm import tqdm

from bertlab.training import distributed
from bertlab.training.trainer import StepReport

# round the parts of a long measurement
evaluation_bar = partial(
    tqdm, desc="measuring", leave=False, bar_format="{desc} {percentage:5.1f}%|{bar}| {elapsed}<{remaining}"
)


def show_progress(reports: Iterable[StepReport], figure: str, label: str) -> None:
    """Run a training to its end behind a bar.

    Args:
        figure: which of the report's figures to show, a share; label: its name on the bar.
    """
    bar = loss = share = None
    try:
        for report in reports:
            # not before the first report, so that a mistake found while opening is not said under an empty bar
            if bar is None:
                bar = tqdm(
                    total=1.0,
                    # of a run that goes on, the time left is told from what is done now
                    initial=report.progress,
                    disable=not distributed.is_main_process(),
                    bar_format="{percentage:5.1f}%|{bar}| {elapsed}<{remaining} {postfix}",
                )
            now = report.metrics[figure]
            # an average over about the last twenty steps; single steps jump
            loss = report.loss if loss is None else 0.95 * loss + 0.05 * report.loss
            share = now if share is None else 0.95 * share + 0.05 * now
            shown = f"{share:.2f}" if label == "error" else f"{share:.0%}"
            bar.set_postfix_str(
                f"step {report.step:,}, loss {loss:.3f}, {label} {shown}, "
                f"{report.tokens / report.seconds:,.0f} tokens/s",
                refresh=False,
            )
            bar.update(report.progress - bar.n)
        if bar is not None:
            bar.n = 1.0  # a report tells where its step began
    finally:
        if bar is not None:
            bar.close()
