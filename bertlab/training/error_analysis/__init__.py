"""Error analysis: which examples a checkpoint gets wrong, and how."""
