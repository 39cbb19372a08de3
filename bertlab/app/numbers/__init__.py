"""The numbers that the app shows, each with its formula and the source that defines it.

A page explains a number by its key (`display.explain`). The name and the explanation of the number are the messages
`number-KEY` and `number-KEY-explanation`. Formulas are written in KaTeX and are the same in every language.
"""

from bertlab.app.numbers.analyses import ANALYSES
from bertlab.app.numbers.metrics import METRICS
from bertlab.app.numbers.model import MODEL

NUMBERS = MODEL | ANALYSES | METRICS  # key of a number -> its formula and source
