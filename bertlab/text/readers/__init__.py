"""File formats: corpora, task rows and uploads are read here."""
