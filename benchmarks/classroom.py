"""`bertlab bench classroom`: measure a school class of thirty students, while its server is killed and restarted."""

import asyncio
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.app import compute_percentiles
from benchmarks.app_process import AppProcess
from benchmarks.class_browsers import BrowserStudent, open_browser
from benchmarks.class_students import Student
from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.classroom.store import ClassStore
from bertlab.config.errors import BertlabError

# the name of the lesson, the index of a step whose question is answered with a number, and the number of all steps
LESSON, QUESTION_STEP, NUM_STEPS = "attention", 1, 8


@dataclass(frozen=True)
class ClassroomBenchConfig(BenchOptions):
    """Measure how fast the app responds to a class, with simulated students or real browsers.

    All students open the app, follow the teacher through the steps, answer a question, and see the answer. Then the
    server is killed and started again: the students reconnect, and the step and all guesses must still be there. Two
    durations are measured for each step, both starting when the teacher opens it: until a student can read the text and
    the question of the step, and until the whole page of the step is drawn. Before these measurements, the class goes
    through all steps once as a warm-up, in which checkpoints are loaded and results are cached; the times of the
    warm-up are printed separately.

    Examples:
      bertlab bench classroom
      bertlab bench classroom --students 10
      bertlab bench classroom --browsers 30
    """

    students: int = 30
    """Number of simulated students, which use Streamlit's protocol without a browser."""
    browsers: int = 0
    """Number of students in real browsers (headless Chromium), which share this machine's cores with the server. If
    this is more than 0, there are no simulated students."""
    rounds: int = 2
    """How many times the class goes through all steps after the warm-up."""


async def _run_class(
    server: AppProcess, store: ClassStore, config: ClassroomBenchConfig, students: list[Student] | list[BrowserStudent]
) -> dict:
    """Lead a class through a lesson, restart the server in the middle, and return the times and the lost guesses."""
    step_ms, page_ms, guess_ms, reveal_ms = [], [], [], []

    async def show(step: int) -> None:
        """Go to a step of the lesson, and wait until every student sees it."""
        start = time.perf_counter()
        store.go_to(step)

        async def follow(student: Student | BrowserStudent) -> None:
            step_ms.append((await student.wait_for(f"step {step + 1} of") - start) * 1000)
            page_ms.append((await student.wait_until_drawn() - start) * 1000)

        await asyncio.gather(*map(follow, students))

    async def open_all() -> None:
        """Open the app for one student, wait until the new server is ready, and then open it for all others."""
        for group in (students[:1], students[1:]):
            await asyncio.gather(*(student.open(server.address) for student in group))
            await asyncio.gather(*(student.wait_for(" of ") for student in group))  # the panel shows "step 1 of 8"
            await asyncio.gather(*(student.wait_until_drawn() for student in group))

    await open_all()
    for step in [*range(1, NUM_STEPS), 0]:  # each page once; all students already see step 0
        await show(step)
        await asyncio.sleep(1)
    warm_up_times = {**compute_percentiles("first_step", step_ms), **compute_percentiles("first_page", page_ms)}
    step_ms.clear()
    page_ms.clear()
    for round_index in range(config.rounds):
        for step in [*range(1, NUM_STEPS), 0]:
            await show(step)
            await asyncio.sleep(2)
        await show(QUESTION_STEP)
        store.set_phase("open")  # students may guess; a student guesses a different number in each round
        guess_ms += await asyncio.gather(
            *(student.guess(index + 10 * round_index % 90) for index, student in enumerate(students))
        )
    start = time.perf_counter()
    store.set_phase("revealed")  # every panel shows the answer to the question, "Answer: 10"
    reveal_ms += [
        (moment - start) * 1000
        for moment in await asyncio.gather(*(student.wait_for("Answer: 10") for student in students))
    ]
    times = {
        **warm_up_times,
        **compute_percentiles("step", step_ms),
        **compute_percentiles("page", page_ms),
        **compute_percentiles("guess", guess_ms),
        **compute_percentiles("reveal", reveal_ms),
    }
    # The times are printed before the restart, because thirty browsers may fail to reconnect.
    print(f"before the server is killed: {times}", file=sys.stderr, flush=True)
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
        "guesses": sum(new_counts.values()),
        # students without a guess after the restart, and guesses whose value has changed or is missing
        "lost_guesses": len(students) - sum(new_counts.values()) + sum((old_counts - new_counts).values()),
        **times,
    }


async def _measure(server: AppProcess, store: ClassStore, config: ClassroomBenchConfig) -> dict:
    """Run a class of simulated students or, with --browsers, of real browsers."""
    if not config.browsers:
        return await _run_class(server, store, config, [Student(index) for index in range(config.students)])
    async with open_browser() as browser:
        return await _run_class(server, store, config, [BrowserStudent(browser) for _ in range(config.browsers)])


def run(config: ClassroomBenchConfig) -> None:
    """Measure a class, print the measurements, and record the results if `--record` is given."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as directory:
        server = AppProcess("--class", LESSON, directory=Path(directory))
        server.start()
        store = ClassStore(Path(directory, "runs", "classroom"), LESSON)
        try:
            measurements = asyncio.run(_measure(server, store, config))
        except TimeoutError as error:
            raise BertlabError("bench-app-page-failed", page="class", error="timeout") from error
        finally:
            store.close()
            server.stop(signal.SIGKILL)
    students, steps = measurements["students"], measurements["steps"]
    class_size = f"{students} browsers on the same machine" if config.browsers else students
    results = [
        Result(f"App: a class of {class_size}, the text of a new step on every screen, 95th percentile",
               measurements["step_p95_ms"], "ms", n=steps, target=1000),
        Result(f"App: a class of {class_size}, the page of a new step drawn, 95th percentile",
               measurements["page_p95_ms"], "ms", n=steps),
        Result(f"App: a class of {class_size}, guesses lost when the server is killed", measurements["lost_guesses"],
               n=students, target=0),
    ]  # fmt: skip
    hardware = f"{os.cpu_count()} cores, load {load:.1f} at the start"
    report(measurements, [replace(result, hardware=hardware) for result in results], config)
