"""F2, a directory <-> a model: name maps, reading, writing, the hub."""
