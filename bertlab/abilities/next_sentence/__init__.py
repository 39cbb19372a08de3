"""Next-sentence prediction under test: rankings and test pairs."""
