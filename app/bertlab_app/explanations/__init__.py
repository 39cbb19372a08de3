"""The values that the app shows, such as metrics, each with its formula and the source that defines it.

A page explains a value by its key (`display.explain`). The name and the explanation of the value are the messages
`number-KEY` and `number-KEY-explanation`. Formulas are written in KaTeX and are the same in every language.
"""

from bertlab_app.explanations.analyses import ANALYSES
from bertlab_app.explanations.metrics import METRICS
from bertlab_app.explanations.model import MODEL

NUMBERS = MODEL | ANALYSES | METRICS  # key of a value -> its formula and source
