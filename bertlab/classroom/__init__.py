"""Classroom mode: lesson files, and the state and guesses of a class. It knows neither Streamlit nor models."""
