"""Write vectors of texts to files.

Shape legend: S texts, P dimensions of a vector.
"""

import json
from pathlib import Path

import numpy as np

from bertlab.config.errors import BertlabError
from bertlab.config.files import fill_atomically
from bertlab.text.readers.text_file import TextFile

VECTOR_SUFFIXES = (".npy", ".parquet")


def write_vectors(path: Path, file: TextFile, vectors_SP: np.ndarray) -> list[Path]:
    """Write vectors to a .npy file, with the ids and texts in a file NAME.ids.jsonl beside it, or to one .parquet file.

    Each file is written completely or not at all.

    Args:
        path: the file to write.
        file: the texts and their ids.
        vectors_SP: the vectors, float32.

    Returns:
        The written files.

    Raises:
        BertlabError: the suffix is neither .npy nor .parquet, or a file cannot be written.
    """
    if path.suffix not in VECTOR_SUFFIXES:
        raise BertlabError("vectors-suffix-unknown", path=path, suffixes=list(VECTOR_SUFFIXES))
    if path.suffix == ".parquet":
        fill_atomically(path, lambda target: _write_parquet(target, file, vectors_SP))
        return [path]
    ids_path = path.with_suffix(".ids.jsonl")
    lines = [
        json.dumps({"id": id, "text": text}, ensure_ascii=False) for id, text in zip(file.ids, file.texts, strict=True)
    ]
    content = "".join(line + "\n" for line in lines).encode("utf-8", "replace")
    fill_atomically(ids_path, lambda target: target.write_bytes(content))
    fill_atomically(path, lambda target: _write_npy(target, vectors_SP))
    return [ids_path, path]


def _write_npy(target: Path, vectors_SP: np.ndarray) -> None:
    with target.open("wb") as stream:  # given a path, numpy would append a suffix
        np.save(stream, vectors_SP)


def _write_parquet(target: Path, file: TextFile, vectors_SP: np.ndarray) -> None:
    import pyarrow
    import pyarrow.parquet

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors_SP.ravel()), vectors_SP.shape[1])
    columns = {"id": pyarrow.array(file.ids), "text": pyarrow.array(file.texts), "vector": vectors}
    pyarrow.parquet.write_table(pyarrow.table(columns), target)
