"""The story world: small coherent stories from a seed, in several languages, and labelled rows with known answers."""
