"""Plain data that all other packages use: configuration, presets, tasks, limits, errors and languages."""
