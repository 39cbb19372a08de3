"""Changes inside the model, and the prediction before and after them."""
