"""Plots about an object or goods; each has a goal, an obstacle and an outcome. `day_plots` explains their functions."""

from bertlab.text.story_world.simulation import Simulation


def lost(world: Simulation) -> bool:
    """The hero loses an object, and the friend finds it, or nobody does."""
    rng, hero, friend, thing = world.rng, world.hero, world.friend, world.thing
    world.own("own", hero, thing)
    task = world.tasks[1]
    world.happen("work", t=task)
    world.start_paragraph()
    loss = world.lose(hero, thing)
    world.feel(hero, "bad", loss)
    first, second, third, _ = world.spots
    world.happen("search", x=thing, s=first, cause=loss)
    if rng.random() < 0.6:
        world.happen("search_more", x=thing, s=second)
    world.happen("ask_help", cause=loss)
    world.happen("agree")
    world.start_paragraph()
    if rng.random() < 0.6:
        discovery = world.take("find", None, friend, thing, s=third)
        world.happen("fall_cause", t=task, x=thing)
        world.take("hand_back", friend, hero, thing, cause=discovery, link="then")
        world.feel(hero, "good", discovery)
        world.happen("thank", cause=discovery)
        if rng.random() < 0.5:
            world.happen("reward", n=rng.randint(2, 9), g=world.product)
        return True
    world.happen("search_more", a=friend, b=hero, x=thing, s=third, link="but")
    world.happen("never_found", x=thing, n=rng.randint(2, 12))
    world.feel(hero, "bad", loss)
    world.happen("console")
    return False


def broken(world: Simulation) -> bool:
    """An object breaks; the repair costs money, which the friend may have to lend."""
    rng, hero, thing, expert = world.rng, world.hero, world.thing, world.expert
    world.own("own", hero, thing)
    world.happen("work", t=world.tasks[1])
    accident = world.break_thing("break" if rng.random() < 0.6 else "break_by", thing, link="but")
    world.feel(hero, "bad", accident)
    world.start_paragraph()
    if rng.random() < 0.6:
        world.happen("go", q=world.other_places[0], link="so", cause=accident)
    world.happen("ask_repair", x=thing, c=expert, cause=accident)
    if rng.random() < 0.3:
        world.happen("no_repair", x=thing, c=expert)
        world.feel(hero, "bad", accident)
        world.happen("console")
        return False
    price = rng.randint(4, 15)
    world.coins[hero] = max(2, price + rng.choice([-4, -3, -2, 2, 3, 4, 5]))
    world.happen("price", c=expert, k=price)
    world.happen("purse", n=world.coins[hero])
    missing_coins = price - world.coins[hero]
    if missing_coins > 1:
        world.happen("too_little", j=missing_coins)
        world.happen("lend", j=missing_coins)
        world.coins[hero] += missing_coins
    elif missing_coins < 0:
        world.happen("enough", k=price)
    else:
        world.coins[hero] = price + 2
    world.start_paragraph()
    world.repair(expert, thing, n=rng.randint(2, 9))
    world.pay("pay", hero, price, c=expert, link="so")
    if world.coins[hero] > 1:
        world.happen("left", j=world.coins[hero])
    world.happen("works_again", x=thing)
    world.feel(hero, "good")
    if missing_coins > 1:
        world.happen("thank")
    else:
        world.happen("use_again", x=thing, t=world.tasks[2])
    return True


def shopping(world: Simulation) -> bool:
    """The hero buys goods for an occasion, loses some on the way, and brings the others."""
    rng, hero, expert, goods, occasion = world.rng, world.hero, world.expert, world.product, world.occasion
    number, price = rng.randint(4, 15), rng.randint(3, 12)
    world.happen("need", n=number, g=goods, occasion=occasion)
    world.coins[hero] = price + rng.randint(2, 7)
    world.happen("purse", n=world.coins[hero])
    world.start_paragraph()
    world.happen("go", q=world.other_places[0], link="so")
    if rng.random() < 0.25:
        price = world.coins[hero] + rng.randint(2, 5)
        world.happen("price_goods", n=number, g=goods, k=price, c=expert)
        world.happen("too_little", j=price - world.coins[hero])
        world.happen("go_without", g=goods, occasion=occasion)
        world.feel(hero, "bad")
        world.happen("console")
        return False
    world.happen("price_goods", n=number, g=goods, k=price, c=expert)
    world.happen("enough", k=price)
    world.pay("buy", hero, price, n=number, g=goods)
    world.happen("left", j=world.coins[hero])
    world.start_paragraph()
    world.happen("carry", g=goods)
    lost_number = rng.randint(2, number - 2) if number > 4 and rng.random() < 0.5 else 0
    if lost_number:
        world.happen("spill", j=lost_number, g=goods, link="but")
        world.set_goods("count", hero, number - lost_number)
    world.happen("return")
    world.happen("deliver", n=number - lost_number, g=goods)
    world.feel(world.friend, "good")
    if rng.random() < 0.5:
        world.happen("thank", a=world.friend, b=hero)
    return True


def present(world: Simulation) -> bool:
    """The hero buys a present for the friend and hides it; then it breaks, or the hero gives it to the friend."""
    rng, hero, friend, thing, shop = world.rng, world.hero, world.friend, world.thing, world.other_places[0]
    wish = world.happen("birthday", n=rng.randint(2, 20), d=rng.choice(world.lexicon.words["days"]))
    world.happen("want_give", cause=wish)
    world.start_paragraph()
    price = rng.randint(3, 15)
    world.coins[hero] = price + rng.randint(2, 5)
    world.happen("purse", n=world.coins[hero])
    world.happen("go", q=shop)
    world.happen("see", x=thing)
    world.holder[thing] = hero
    world.pay("buy_thing", hero, price, x=thing)
    world.happen("left", j=world.coins[hero])
    world.put("hide", thing, world.spots[0], a=hero)
    world.start_paragraph()
    if rng.random() < 0.3:
        accident = world.break_thing("break", thing, link="but")
        world.feel(hero, "bad", accident)
        world.happen("console")
        return False
    world.take("give", world.spots[0], friend, thing)
    world.happen("like", x=thing)
    world.feel(friend, "good")
    world.happen("thank", a=friend, b=hero)
    if rng.random() < 0.25:
        world.happen("have_already", x=thing, link="but")
    return True


def borrowed(world: Simulation) -> bool:
    """The hero takes the friend's object without asking, and has to confess."""
    rng, hero, friend, thing = world.rng, world.hero, world.friend, world.thing
    world.holder[thing] = friend
    world.happen("belongs", x=thing)
    world.happen("reason", a=friend, b=hero, x=thing, t=world.tasks[1])
    theft = world.take("take_secretly", friend, hero, thing, link="so")
    world.start_paragraph()
    world.happen("miss", x=thing, cause=theft)
    world.happen("silent")
    if rng.random() < 0.5:
        world.happen("search", a=friend, b=hero, x=thing, s=world.spots[0])
    world.happen("confess", x=thing)
    world.happen("angry", cause=theft)
    world.start_paragraph()
    world.happen("apologise", cause=theft)
    world.take("hand_over", hero, friend, thing, link="then")
    if rng.random() < 0.6:
        world.happen("promise")
        world.happen("forgive")
        world.feel(hero, "good")
        return True
    world.happen("not_forgive", x=thing, n=rng.randint(2, 9))
    world.feel(hero, "bad", theft)
    return False


def thief(world: Simulation) -> bool:
    """An animal steals an object, and the hero chases it."""
    rng, hero, thing = world.rng, world.hero, world.thing
    animal = rng.choice(world.lexicon.words["animals"])
    world.own("own", hero, thing)
    world.happen("appear", animal=animal, link="then")
    world.holder[thing] = None
    theft = world.happen("animal_steals", animal=animal, x=thing, state={"holder": None})
    world.feel(hero, "bad", theft)
    world.start_paragraph()
    world.happen("chase", animal=animal, q=world.other_places[0], cause=theft)
    world.happen("ask_help", cause=theft)
    world.happen("search", a=world.friend, b=hero, x=thing, s=world.spots[0])
    if rng.random() < 0.65:
        world.put("animal_drops", thing, world.spots[1], animal=animal, link="but")
        world.take("hand_back", world.spots[1], hero, thing, link="then")
        world.feel(hero, "good")
        world.happen("thank")
        return True
    world.happen("never_found", x=thing, n=rng.randint(2, 12))
    world.feel(hero, "bad", theft)
    return False


def delivery(world: Simulation) -> bool:
    """The hero brings goods to another place; the vehicle fails on the way."""
    rng, hero, goods, goal, expert = world.rng, world.hero, world.product, world.other_places[0], world.expert
    number, vehicle = rng.randint(4, 20), rng.choice(world.lexicon.words["vehicles"])
    order = world.happen("order", c=expert, n=number, g=goods, q=goal, occasion=world.occasion)
    world.happen("set_out", g=goods, vehicle=vehicle, q=goal, cause=order)
    failure = world.happen("stuck", vehicle=vehicle, n=rng.randint(2, 9), link="but")
    world.feel(hero, "bad", failure)
    world.start_paragraph()
    world.happen("ask_help", cause=failure)
    world.happen("push", vehicle=vehicle)
    world.start_paragraph()
    if rng.random() < 0.6:
        world.happen("on_time", q=goal)
        world.happen("paid", c=expert, k=rng.randint(3, 20), g=goods, cause=order)
        world.feel(hero, "good")
        world.happen("thank")
        return True
    delay = world.happen("late", q=goal, n=rng.randint(2, 5), link="but")
    world.happen("not_paid", c=expert, g=goods, cause=delay, link="so")
    world.feel(hero, "bad", delay)
    return False


def letter(world: Simulation) -> bool:
    """In a letter, the friend asks for an object; the hero brings it, or goes to the wrong place."""
    rng, hero, friend, thing, goal = world.rng, world.hero, world.friend, world.thing, world.other_places[0]
    request = world.happen("letter")
    world.happen("letter_says", x=thing)
    world.holder[thing] = hero
    world.happen("letter_place", q=goal)
    world.start_paragraph()
    world.happen("pack", x=thing, cause=request)
    world.happen("go", q=goal, link="then")
    if rng.random() < 0.3:
        mistake = world.happen("wrong_place", q=goal, n=rng.randint(2, 6))
        world.feel(hero, "bad", mistake)
        world.happen("return", link="so")
        return False
    world.happen("meet", q=goal)
    world.start_paragraph()
    world.take("hand_over", hero, friend, thing)
    world.happen("thank", a=friend, b=hero)
    world.happen("reason", x=thing, t=world.tasks[1])
    world.happen("work_both", t=world.tasks[2])
    world.feel(friend, "good")
    return True


def sharing(world: Simulation) -> bool:
    """The hero has goods and the friend has none; the hero shares, or does not."""
    rng, hero, friend, goods = world.rng, world.hero, world.friend, world.product
    number = rng.randint(5, 20)
    world.set_goods("has", hero, number)
    need = world.happen("has_none", g=goods)
    world.feel(friend, "bad", need)
    world.start_paragraph()
    if rng.random() < 0.65:
        shared_number = rng.randint(2, number - 2)
        world.goods[hero, goods] -= shared_number
        world.happen("give_some", k=shared_number, g=goods, cause=need, state={"count": shared_number})
        world.happen("keep", j=number - shared_number, g=goods, state={"count": number - shared_number})
        world.happen("thank", a=friend, b=hero)
        world.feel(friend, "good")
        world.happen("work_both", t=world.tasks[1])
        return True
    refusal = world.happen("refuse", g=goods)
    world.happen("cry", cause=refusal)
    world.feel(hero, "bad", refusal)
    return False
