"""Components of single pages. Components that several pages share are in `bertlab_app` itself."""
