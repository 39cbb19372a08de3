"""Components of single pages. Components that several pages share are in `bertlab.app` itself."""
