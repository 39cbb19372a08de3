"""What one can ask of a checkpoint, of texts or of runs: one folder for each ability."""
