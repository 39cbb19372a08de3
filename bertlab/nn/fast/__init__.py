"""Faster implementations of `nn/bert.py` with the same results: packing, bucketed attention, fused losses."""
