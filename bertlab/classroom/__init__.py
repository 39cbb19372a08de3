"""Classroom mode without the app: lesson files, and the state and guesses of a class; without Streamlit and models."""
