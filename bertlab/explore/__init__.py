"""A text and a checkpoint to facts: predictions, attention, interventions, comparisons."""
