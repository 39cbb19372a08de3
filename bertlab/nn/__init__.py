"""Integers to tensors: the BERT model, what it can record (`Trace`) and what can be changed in it (interventions)."""
