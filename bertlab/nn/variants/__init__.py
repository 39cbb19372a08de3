"""The parts of the families' models that differ from BERT's, and the choice between them."""
