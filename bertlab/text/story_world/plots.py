"""The list of plots of the story world. Most have a goal, an obstacle and an outcome, told by a chain of events."""

from collections.abc import Callable

from bertlab.text.story_world.day_plots import busy_day, contest, lesson, rainy, stray
from bertlab.text.story_world.object_plots import (
    borrowed,
    broken,
    delivery,
    letter,
    lost,
    present,
    sharing,
    shopping,
    thief,
)
from bertlab.text.story_world.simulation import Simulation

Plot = Callable[[Simulation], bool]  # a plot adds its events to a world, and returns whether it ends well


def open_story(world: Simulation) -> None:
    """Introduce the hero, the place and the friend."""
    rng = world.rng
    if rng.random() < 0.75:
        world.happen("intro", n=rng.randint(2, 20))
    world.happen("arrive")
    if rng.random() < 0.8:
        world.happen("scene", scene=world.scenes[0])
    world.happen("companion")


def close_story(world: Simulation, is_happy: bool) -> None:
    """End the last paragraph with an event that shows whether the story ends well."""
    if world.rng.random() < 0.4:
        world.happen("night")
    world.happen("end_happy" if is_happy else "end_sad")


# `run_plot` chooses one of these plots at random, so another order would change the stories of every seed
PLOTS: tuple[Plot, ...] = (
    lost, broken, shopping, rainy, lesson, present, borrowed, contest, stray, thief, delivery, busy_day, letter,
    sharing,
)  # fmt: skip


def run_plot(world: Simulation) -> tuple[str, bool]:
    """Let a random plot happen in a world, with an opening and an ending; return its name and whether it ends well."""
    plot = world.rng.choice(PLOTS)
    if plot is busy_day:
        world.part_of_day = world.lexicon.words["parts"][0]  # a busy day begins in the morning
    open_story(world)
    is_happy = plot(world)
    close_story(world, is_happy)
    return plot.__name__, is_happy
