"""Parts of other model families (ALBERT, ModernBERT, ...) that differ from BERT's, and the model that combines them."""
