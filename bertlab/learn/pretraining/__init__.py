"""From raw text to a checkpoint that fills masks: the corpus, the run and its settings, and how well it does."""
