"""One pre-training example, drawn by hand, and its losses."""
