"""Classroom mode without the app: lesson files, and the state and guesses of a class. It uses no Streamlit or model."""
