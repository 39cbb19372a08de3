"""The app from a clone: `streamlit run app/streamlit_app.py`."""

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]  # also if bertlab is not installed

from bertlab_app.main import run  # noqa: E402

run()
