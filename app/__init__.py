"""The browser window onto bertlab: it shows; it computes nothing."""
