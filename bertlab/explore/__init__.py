"""From a text and a checkpoint to results: predictions, attention, interventions and comparisons."""
