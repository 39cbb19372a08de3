"""The rows of a run's log as TensorBoard event files. Knows no run."""

from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.training.pretraining.cloze import told


class Board:
    """Writes events under `path`; opening it for a run that goes on at `step` hides what was drawn after that step.

    For a run of which nothing was saved (None) it hides all.

    Raises:
        BertlabError: the package tensorboard is not installed.
    """

    def __init__(self, path: Path, step: int | None):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise BertlabError("--tensorboard needs the package tensorboard: pip install tensorboard") from None
        self._writer = SummaryWriter(str(path), purge_step=0 if step is None else step + 1)

    def write(self, row: dict) -> None:
        """A row of log.jsonl: of a step, of a measurement, or of watched sentences."""
        step = row["step"]
        for name, value in row.items():
            if name == "watched":
                self._writer.add_text("watched", f"```\n{told(value, step)}\n```", step)
            elif name == "validation":
                for figure, number in value.items():
                    self._writer.add_scalar(f"validation/{figure}", number, step)
            elif name != "step" and isinstance(value, int | float) and "validation" not in row:
                self._writer.add_scalar(f"training/{name}", value, step)
        self._writer.flush()
