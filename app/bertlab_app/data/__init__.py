"""Caches of the models, labelled rows and training runs that the pages draw."""
