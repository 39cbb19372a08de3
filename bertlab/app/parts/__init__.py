"""What one page alone is made of, where that is more than a page should hold. What several pages share lies above."""
