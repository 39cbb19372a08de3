"""Run the command line of bertlab with `python -m bertlab`."""

import sys

from bertlab.cli import main

sys.exit(main())
