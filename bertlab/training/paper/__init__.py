"""The tables of the BERT paper, reproduced at a small size."""
