"""A checkpoint in one HTML file that runs in any browser (`bertlab export-live`)."""
