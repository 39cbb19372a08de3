"""F3, data -> a trained checkpoint: objectives, metrics, the optimiser, the trainer, and what is built of them."""
