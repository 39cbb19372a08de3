"""The app: `bertlab app` starts this script."""

from bertlab_app.main import run

run()
