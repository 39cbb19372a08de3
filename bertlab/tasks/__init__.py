"""Task types: what each one reads, learns, predicts and measures."""
