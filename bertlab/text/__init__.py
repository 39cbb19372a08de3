"""F1, text -> integers: WordPiece, corpora, sentence pairs, masks, features, spans, batches."""
