"""F3, data -> a trained checkpoint. Here: what every run shares. The rooms: pre-training, tasks, the paper's tables."""
