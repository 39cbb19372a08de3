"""The cost of a BERT of any size: parameters, floating-point operations, memory, time and money, by arithmetic alone.

Nothing is measured here; `benchmarks.cost` compares the estimates with real training steps. Call `estimate`:

>>> from bertlab.config.presets import get_preset
>>> cost = estimate(Workload(get_preset("base")))
>>> cost.num_parameters
110106428
"""

from bertlab.abilities.cost.estimate import Cost, estimate, estimate_growth
from bertlab.abilities.cost.workload import Workload

__all__ = ["Cost", "Workload", "estimate", "estimate_growth"]
