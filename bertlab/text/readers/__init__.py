"""File formats: readers of corpora, task rows, predictions, uploads and pasted tables.

Importing the package registers the built-in formats; `registry.register` adds others.
"""

from bertlab.text.readers import json_values, parquet, plain_text, tables
from bertlab.text.readers.registry import register

for _format in (
    parquet.Parquet(),
    json_values.JsonLines(),
    json_values.Json(),
    tables.CommaSeparated(),
    tables.TabSeparated(),
    plain_text.PlainText(),
):
    register(_format)
