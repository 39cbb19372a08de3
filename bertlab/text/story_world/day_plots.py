"""Plots about a day of work, weather, learning or play. A plot is a function that adds events to a simulation.

It returns whether the story ends well. The arguments of `happen` are a key of `events.toml` and the roles in its
wordings (such as t for a task and n for a number).
"""

from bertlab.text.story_world.simulation import Simulation


def rainy(world: Simulation) -> bool:
    """Rain interrupts the hero's work; the hero shelters with the friend, and may fall ill."""
    rng, hero, task, shelter = world.rng, world.hero, world.tasks[1], world.other_places[0]
    world.happen("plan", t=task)
    world.happen("errand")
    world.happen("no_umbrella")
    world.start_paragraph()
    if rng.random() < 0.7:
        world.happen("clouds")
    rain = world.happen("rain")
    wet = world.happen("wet", cause=rain)
    world.happen("shelter", q=shelter, cause=rain, link="so")
    world.happen("meet", q=shelter)
    world.happen("drink", drink=rng.choice(world.lexicon.words["drinks"]), cause=wet)
    world.start_paragraph()
    if rng.random() < 0.55:
        world.happen("rain_stops", n=rng.randint(2, 5))
        world.happen("return", link="then")
        world.happen("finish", t=task)
        world.feel(hero, "good")
        return True
    world.happen("ill", cause=wet)
    world.happen("bed", n=rng.randint(2, 9), t=task)
    world.feel(hero, "bad", wet)
    return False


def lesson(world: Simulation) -> bool:
    """The hero wants to learn a task that the friend knows how to do."""
    rng, hero, task = world.rng, world.hero, world.tasks[0]
    wish = world.happen("wish_learn", t=task)
    world.happen("cannot")
    world.happen("ask_teach", t=task, cause=wish)
    world.happen("agree")
    world.start_paragraph()
    world.happen("show", t=task, link="then")
    failure = world.happen("fail", t=task, link="but")
    world.feel(hero, "bad", failure)
    world.happen("encourage", link="but")
    world.happen("practise", n=rng.randint(3, 12))
    world.start_paragraph()
    if rng.random() < 0.65:
        world.skills.add((hero, task))
        success = world.happen("succeed", t=task, state={"skill": task})
        world.happen("praise", cause=success)
        world.feel(hero, "good", success)
        world.happen("thank")
        return True
    world.happen("give_up", t=task)
    world.feel(hero, "bad", failure)
    world.happen("console")
    return False


def contest(world: Simulation) -> bool:
    """The hero and the friend compete for the larger number of goods."""
    rng, goods, prize = world.rng, world.product, world.thing
    world.happen("challenge")
    world.happen("rule", g=goods)
    world.happen("prize", x=prize, c=world.expert)
    if rng.random() < 0.4:
        world.happen("scene", scene=world.scenes[1])
    world.start_paragraph()
    hero_score, friend_score = rng.sample(range(3, 21), 2)
    world.set_goods("score", world.hero, hero_score)
    world.happen("score_other", k=friend_score, g=goods)
    if hero_score > friend_score:
        result = world.happen("win", state={"winner": world.hero})
        world.happen("congratulate")
        world.feel(world.hero, "good", result)
        return True
    result = world.happen("lose_contest", state={"winner": world.friend})
    world.feel(world.hero, "bad", result)
    if rng.random() < 0.6:
        world.happen("congratulate", a=world.friend, b=world.hero, link="but")
    else:
        world.happen("console", link="but")
    return False


def stray(world: Simulation) -> bool:
    """A hungry animal appears; the hero feeds it; it turns out to belong to the friend, or runs away."""
    rng = world.rng
    animal, food = rng.choice(world.lexicon.words["animals"]), rng.choice(world.lexicon.words["foods"])
    world.happen("work", t=world.tasks[1])
    world.happen("appear", animal=animal, link="then")
    world.happen("animal_hungry", animal=animal, n=rng.randint(2, 6))
    world.happen("feed", animal=animal, food=food)
    world.start_paragraph()
    if rng.random() < 0.3:
        escape = world.happen("animal_escapes", animal=animal)
        world.feel(world.hero, "bad", escape)
        world.happen("chase", animal=animal, q=world.other_places[0])
        world.happen("console")
        return False
    world.happen("animal_follows", animal=animal)
    if rng.random() < 0.5:
        world.happen("go", q=world.other_places[0])
    world.happen("owner", animal=animal, n=rng.randint(2, 9))
    world.feel(world.friend, "good")
    world.happen("thank", a=world.friend, b=world.hero)
    world.happen("animal_home", animal=animal)
    return True


def busy_day(world: Simulation) -> bool:
    """A day full of work, with a meal and a rest."""
    rng, tasks = world.rng, world.tasks
    world.happen("first", t=tasks[0])
    world.happen("second", t=tasks[1])
    if rng.random() < 0.5:
        world.happen("scene", scene=world.scenes[1])
    world.start_paragraph()
    hunger = world.happen("hungry")
    world.happen("eat", food=rng.choice(world.lexicon.words["foods"]), cause=hunger)
    world.happen("third", t=tasks[2])
    if rng.random() < 0.6:
        world.happen("work_both", t=tasks[3])
    world.happen("fourth", t=tasks[4])
    world.start_paragraph()
    fatigue = world.happen("tired")
    world.happen("rest", n=rng.randint(2, 3), cause=fatigue, link="so")
    return True
