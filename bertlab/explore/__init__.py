"""F3, (text, checkpoint) -> facts: what a model says, and what it computed on the way."""
