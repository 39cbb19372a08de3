"""Classroom mode without Streamlit and without a model: lesson files, and the state of a class of students."""
