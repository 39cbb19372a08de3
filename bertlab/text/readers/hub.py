"""Load data sets of the Hugging Face hub by their ids."""

import zlib

import httpx2
import huggingface_hub
import pyarrow as pa

from bertlab.config.errors import DataError, NoSuchSplit, first_line


def list_read_errors() -> tuple[type[Exception], ...]:
    """List the exceptions that `datasets` and its libraries raise for a damaged or unreachable data set."""
    import datasets  # imported here because it takes a second, and most programs load nothing from the hub

    base_errors = (OSError, ValueError, RuntimeError, EOFError, zlib.error)
    return (*base_errors, pa.ArrowException, httpx2.HTTPError, datasets.exceptions.DatasetsError)


def load(name: str, split: str, streaming: bool = False):
    """Load one split of a data set of the hub as a `datasets.Dataset` or `datasets.IterableDataset`.

    Args:
        name: "owner/name", optionally followed by ":configuration" and "@revision".

    Raises:
        NoSuchSplit: the data set has no such split.
    """
    import datasets  # imported here for the same reason as in `list_read_errors`

    path, _, revision = name.partition("@")
    path, _, config = path.partition(":")
    # `huggingface_hub` warns at every retry; the error below already says why the data set cannot be loaded.
    huggingface_hub.utils.logging.set_verbosity_error()
    try:
        return datasets.load_dataset(path, config or None, split=split, streaming=streaming, revision=revision or None)
    except list_read_errors() as error:
        error_type = NoSuchSplit if str(error).startswith(("Unknown split", "Bad split")) else DataError
        raise error_type("hub-data-unavailable", name=name, reason=first_line(error)) from error


def is_hub_id(source: str) -> bool:
    """Whether a source has the form of a hub id.

    >>> is_hub_id("nyu-mll/glue:mnli"), is_hub_id("e9t/nsmc@refs/convert/parquet"), is_hub_id("runs/a/b")
    (True, True, False)
    """
    return source.partition(":")[0].partition("@")[0].count("/") == 1
