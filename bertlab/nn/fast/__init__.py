"""The same numbers as `nn/bert.py`, computed sooner: packing, bucketed attention, fused losses."""
