"""Benchmarks: how fast bertlab is beside its peers."""
