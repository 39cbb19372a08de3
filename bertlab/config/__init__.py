"""Plain data: model configuration, presets, the task catalogue, limits, error types."""
