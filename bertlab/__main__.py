"""`python -m bertlab`: the command line."""

import sys

from bertlab.cli import main

sys.exit(main())
