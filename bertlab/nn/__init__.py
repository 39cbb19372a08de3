"""F1, integers -> tensors: the model of the paper, and the two arguments that open it up (Trace, Surgery)."""
