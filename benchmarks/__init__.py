"""Benchmarks: the speed and memory of bertlab, compared with other libraries."""
