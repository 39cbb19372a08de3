"""The tables of the paper: what was trained in each row, and the same trained here."""
