"""Classroom mode: the panel of a lesson beside the pages, for a teacher, for students, and for one person alone."""
