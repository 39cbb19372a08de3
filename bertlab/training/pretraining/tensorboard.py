"""Write the rows of a run's log as TensorBoard event files."""

from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.training.pretraining.cloze import format_predictions


class TensorBoardLog:
    """Writes the rows of a log to event files; TensorBoard hides existing events after the last saved `step`."""

    def __init__(self, path: Path, step: int | None):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise BertlabError("tensorboard-not-installed") from None
        self._writer = SummaryWriter(str(path), purge_step=0 if step is None else step + 1)

    def write(self, row: dict) -> None:
        """Write a row of `log.jsonl`: a step, an evaluation ("validation"), or sample predictions ("samples")."""
        step = row["step"]
        for name, value in row.items():
            if name == "samples":
                self._writer.add_text("samples", f"```\n{format_predictions(value, step)}\n```", step)
            elif name == "validation":
                for metric, metric_value in value.items():
                    self._writer.add_scalar(f"validation/{metric}", metric_value, step)
            elif name != "step" and isinstance(value, int | float) and "validation" not in row:
                self._writer.add_scalar(f"training/{name}", value, step)
        self._writer.flush()
