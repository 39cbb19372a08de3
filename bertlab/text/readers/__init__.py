"""File formats: readers of corpora, task rows, predictions, uploads and pasted tables.

Each class with the decorator `registry.register` is a format; importing the package imports the built-in ones.
"""

from bertlab.text.readers import json_values, parquet, plain_text, tables  # noqa: F401
