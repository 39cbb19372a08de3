"""WordPiece and positions: how a text becomes vectors."""
