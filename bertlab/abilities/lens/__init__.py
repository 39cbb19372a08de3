"""The logit lens: the prediction after every layer."""
