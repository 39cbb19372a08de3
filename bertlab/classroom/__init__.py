"""The parts of classroom mode that need neither Streamlit nor a model: lesson files, and the state of a class."""
