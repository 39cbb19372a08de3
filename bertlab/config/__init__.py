"""Plain data and the helpers of all other packages: configuration, presets, tasks, limits, errors, languages."""
