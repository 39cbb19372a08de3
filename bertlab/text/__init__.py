"""From strings to integers: tokenizers, file readers, pre-training data, and the story world as a source of text."""
