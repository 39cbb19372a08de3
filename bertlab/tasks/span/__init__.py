"""Question answering: answer spans in a passage."""
