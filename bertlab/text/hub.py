"""Data sets of the hub, by id: their rows, or one clear line. Knows no columns."""

import datasets
import huggingface_hub

from bertlab.spec.errors import DataError


def load(name: str, split: str, streaming: bool = False):
    """One split of "owner/name", "owner/name:config" or "owner/name@revision", as `datasets` gives it.

    Raises:
        DataError: there is no such data set, or the hub cannot be reached.
    """
    path, _, revision = name.partition("@")
    path, _, config = path.partition(":")
    # its warnings of every retry would bury the one line that matters
    huggingface_hub.utils.logging.set_verbosity_error()
    try:
        return datasets.load_dataset(path, config or None, split=split, streaming=streaming, revision=revision or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{name} is no file here, and the hub does not give it: {reason}") from error
