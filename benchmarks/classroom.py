"""`bertlab bench classroom`: measure a school class of thirty students, while its server is killed and restarted."""

import asyncio
import signal
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.app_process import AppProcess
from benchmarks.class_students import Student
from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.results import Result
from bertlab.classroom.store import ClassStore
from bertlab.config.errors import BertlabError

# the name of the lesson, the index of a step whose question is answered with a number, and the number of all steps
LESSON, QUESTION_STEP, NUM_STEPS = "attention", 1, 8


@dataclass(frozen=True)
class ClassroomBenchConfig(BenchOptions):
    """Measure how fast the app responds to a class of simulated students.

    All students open the app, follow the teacher through the steps, answer a question, and see the answer. Then the
    server is killed and started again: the students reconnect, and the step and all guesses must still be there. Two
    durations are measured for each step, both starting when the teacher opens it: until a student can read the text and
    the question of the step, and until the whole page of the step is drawn. Before these measurements, the class goes
    through all steps once as a warm-up, in which checkpoints are loaded and results are cached.

    Examples:
      bertlab bench classroom
      bertlab bench classroom --students 10
    """

    students: int = 30
    """Number of simulated students, which use Streamlit's protocol without a browser."""
    rounds: int = 2
    """How many times the class goes through all steps after the warm-up."""


def compute_percentiles(name: str, times_ms: list[float]) -> dict:
    """Return the median and the 95th percentile of at least two times in milliseconds."""
    percentiles = statistics.quantiles(times_ms, n=20, method="inclusive")  # 5, 10, ..., 95
    return {f"{name}_p50_ms": round(percentiles[9], 1), f"{name}_p95_ms": round(percentiles[18], 1)}


async def run_class(server: AppProcess, store: ClassStore, config: ClassroomBenchConfig) -> dict:
    """Lead a class through a lesson, restart the server in the middle, and return the times and the lost guesses."""
    students = [Student(index) for index in range(config.students)]
    step_ms, page_ms = [], []

    async def show_all_steps(pause: float) -> None:
        for step in [*range(1, NUM_STEPS), 0]:  # all students already see step 0
            await show(step)
            await asyncio.sleep(pause)

    async def show(step: int) -> None:
        start = time.perf_counter()
        store.go_to(step)

        async def follow(student: Student) -> None:
            step_ms.append((await student.wait_for(f"step {step + 1} of") - start) * 1000)
            page_ms.append((await student.wait_until_drawn() - start) * 1000)

        await asyncio.gather(*map(follow, students))

    async def open_all() -> None:
        for group in (students[:1], students[1:]):  # the new server is ready when the first student sees the page
            await asyncio.gather(*(student.open(server.address) for student in group))
            await asyncio.gather(*(student.wait_for(" of ") for student in group))  # the panel shows "step 1 of 8"
            await asyncio.gather(*(student.wait_until_drawn() for student in group))

    await open_all()
    await show_all_steps(1)
    step_ms.clear()
    page_ms.clear()
    for round_index in range(config.rounds):
        await show_all_steps(2)
        await show(QUESTION_STEP)
        store.set_phase("open")  # students may guess; a student guesses a different number in each round
        await asyncio.gather(*(student.guess(index + 10 * round_index % 90) for index, student in enumerate(students)))
    store.set_phase("revealed")
    await asyncio.gather(*(student.wait_for("Answer: 10") for student in students))
    old_counts = store.count_guesses(QUESTION_STEP)
    for student in students:
        await student.close()
    server.stop(signal.SIGKILL)
    server.start()
    await open_all()
    await asyncio.gather(*(student.wait_for(f"step {QUESTION_STEP + 1} of") for student in students))
    await asyncio.gather(*(student.wait_for("Your guess: ") for student in students))
    new_counts = store.count_guesses(QUESTION_STEP)
    for student in students:
        await student.close()
    errors = [error for student in students for error in student.errors]
    return {
        "students": len(students),
        "steps": len(step_ms),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        # students without a guess after the restart, and guesses whose value has changed or is missing
        "lost_guesses": len(students) - sum(new_counts.values()) + sum((old_counts - new_counts).values()),
        **compute_percentiles("step", step_ms),
        **compute_percentiles("page", page_ms),
    }


def run(config: ClassroomBenchConfig) -> None:
    """Measure a class, print the measurements, and record the results if `--record` is given."""
    hardware = describe_load()
    with tempfile.TemporaryDirectory() as directory:
        server = AppProcess("--class", LESSON, directory=Path(directory))
        server.start()
        store = ClassStore(Path(directory, "runs", "classroom"), LESSON)
        try:
            measurements = asyncio.run(run_class(server, store, config))
        except TimeoutError as error:
            raise BertlabError("bench-app-page-failed", page="class", error="timeout") from error
        finally:
            store.close()
            server.stop(signal.SIGKILL)
    claim, steps = f"App: a class of {config.students}", measurements["steps"]
    text, page = f"{claim}, the text of a new step on every screen", f"{claim}, the page of a new step drawn"
    lost, count = f"{claim}, guesses lost when the server is killed", measurements["lost_guesses"]
    results = [
        Result(f"{text}, 95th percentile", measurements["step_p95_ms"], "ms", n=steps, target=1000),
        Result(f"{page}, 95th percentile", measurements["page_p95_ms"], "ms", n=steps),
        Result(lost, count, n=config.students, target=0),
    ]
    report(measurements, [replace(result, hardware=hardware) for result in results], config)
