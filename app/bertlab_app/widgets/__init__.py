"""What several pages draw: fields, figures, sentences, panels and the frame of a page."""
