"""`bertlab export-live`: write one HTML file that runs a checkpoint in the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.config.errors import BertlabError


@dataclass(frozen=True)
class ExportLive:
    """Write one HTML file that runs a checkpoint in the browser.

    The file contains the weights (in eight bits), the tokenizer, and JavaScript that computes the model. It needs no
    server, no network and no Python: open it from disk, or send it by mail. It shows attention, fills masks, predicts
    next sentences, switches heads off and draws the logit lens, in English and Korean. It also contains the lessons of
    `bertlab app --class`, in the language of the checkpoint. The size is about 1.1 bytes per parameter: 7 MB for the
    shipped checkpoint *scratch*, 25 MB for *strongest*. Use a small checkpoint: the browser computes on one CPU core.
    Any browser of 2024 or later opens the file (at least Chrome or Edge 111, Firefox 113, Safari 16.4).

    If the checkpoint lacks the output layer that a view needs, this view is left out. For a fine-tuned checkpoint, only
    the attention view remains.

    Examples:
      bertlab export-live scratch
      bertlab export-live runs/mine --out lesson.html
      bertlab export-live korean --out korean.html --replace
    """

    checkpoint: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CHECKPOINT")]
    """A checkpoint or run directory, the name of a shipped checkpoint, or a hub id (the name of a model on the Hugging
    Face Hub)."""
    out: Path = Path("bert.html")
    """The file to write."""
    replace: bool = False
    """Overwrite an existing file."""


def export_live(config: ExportLive) -> None:
    """Write the file and print its size.

    Raises:
        BertlabError: the file exists already or cannot be written.
        CheckpointError: the checkpoint cannot be opened, or its tokenizer has steps without a JavaScript version.
    """
    from functools import partial

    from tqdm import tqdm

    from bertlab.abilities.live.export import write_live_page
    from bertlab.session import load

    path = config.out.expanduser()
    if path.exists() and not config.replace:
        raise BertlabError("live-file-exists", path=path)
    session = load(config.checkpoint)
    size = write_live_page(session, path, partial(tqdm, desc="quantising", unit="tensor", leave=False))
    print(f"{path}: {session.name} in 8 bits, {size / 1e6:.1f} MB; open it in a browser")
