"""A run of `bertlab bench serve` with made-up results."""

from bertlab.abilities.cost.serving_rows import PEERS, STEPS, ServingRun, StepResult


def make_run(**changes) -> ServingRun:
    """A run whose step `workers` is 70 times as fast as the first one, and loses one point of accuracy."""
    speed = {"base": 10.0, "student": 60.0, "workers": 700.0}
    steps = []
    for name in (*STEPS, *PEERS):
        accuracy = {"base": None, "peer-base": None, "workers": 87.0}.get(name, 88.0)
        steps.append(
            StepResult(name, speed.get(name, 100.0), 1.0, 900.0, 2.0, 3.0, accuracy, None if accuracy is None else 1)
        )
    values = {
        "task": "sst2", "student": "sst2", "student_size": (6, 384), "base": None, "rows": 872, "texts": 256,
        "mean_tokens": 25.0, "max_tokens": 128, "batch_size": 8, "repeated": 0.3, "repeated_rows": 0.0, "cores": 2,
        "rounds": 5, "hardware": "two cores", "command": "bertlab bench serve sst2", "commit": "abc",
        "date": "2026-11-27", "steps": tuple(steps),
    }  # fmt: skip
    return ServingRun(**values | changes)
