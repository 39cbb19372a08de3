"""Attention of every head, rollout, roles of heads, and one layer step by step."""
