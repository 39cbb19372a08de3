"""Task types: the rows that each type reads, its loss, its predictions and its metrics."""
