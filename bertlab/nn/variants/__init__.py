"""Parts of other model families (ALBERT, ModernBERT, ...) that differ from BERT, and `FamilyBert`, which uses them."""
