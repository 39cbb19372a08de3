"""Lessons in the app: a panel beside the pages for a teacher, for students, and for a reader without a class."""
