"""Pre-train a BERT on a corpus."""
