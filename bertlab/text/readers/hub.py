"""Data sets of the hub, by id: their rows, or one clear line. Knows no columns."""

import zlib

import datasets
import httpx2
import huggingface_hub
import pyarrow as pa

from bertlab.config.errors import DataError, NoSuchSplit, first_line

# by `datasets` and by what it reads with (pandas, Arrow, zlib), of a set that is damaged or cannot be reached
UNREADABLE = (
    OSError,
    ValueError,
    RuntimeError,
    EOFError,
    zlib.error,
    pa.ArrowException,
    httpx2.HTTPError,
    datasets.exceptions.DatasetsError,
)


def load(name: str, split: str, streaming: bool = False):
    """One split of "owner/name", "owner/name:config" or "owner/name@revision", as `datasets` gives it.

    Raises:
        DataError: there is no such data set, or the hub cannot be reached; NoSuchSplit where only the split is missing.
    """
    path, _, revision = name.partition("@")
    path, _, config = path.partition(":")
    # its warnings of every retry would bury the one line that matters
    huggingface_hub.utils.logging.set_verbosity_error()
    try:
        return datasets.load_dataset(path, config or None, split=split, streaming=streaming, revision=revision or None)
    except UNREADABLE as error:
        kind = NoSuchSplit if str(error).startswith(("Unknown split", "Bad split")) else DataError
        raise kind(f"{name} is no file here, and the hub does not give it: {first_line(error)}") from error
