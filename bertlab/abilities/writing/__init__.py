"""Writing aids: how surprising each word is, what could be written next, and suggestions for spelling and spacing."""
