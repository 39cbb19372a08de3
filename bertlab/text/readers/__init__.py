"""File formats: readers of corpora, task rows, predictions, uploads and pasted tables.

Importing the package registers the built-in formats; `registry.register` adds others.
"""

from bertlab.text.readers import json_values, parquet, plain_text, tables
from bertlab.text.readers.registry import register

register(parquet.Parquet())
register(json_values.JsonLines())
register(json_values.Json())
register(tables.CommaSeparated())
register(tables.TabSeparated())
register(plain_text.PlainText())
