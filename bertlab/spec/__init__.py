"""F0, plain data: what a model is, what the presets and tasks are. Standard library only."""
