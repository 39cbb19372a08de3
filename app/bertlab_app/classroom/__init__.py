"""Lessons in the app: a panel beside the pages, for a teacher and students, or for a reader without a teacher."""
