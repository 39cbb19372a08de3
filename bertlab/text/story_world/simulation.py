"""A small world, independent of any wording: people, things, money and counts, and the events that change them.

Every event checks that it is possible (one cannot give away what one does not have), changes the world, and records its
roles, its cause and the state afterwards.
"""

import random
from dataclasses import dataclass, field
from functools import cache

from bertlab.text.story_world.lexicon import Lexicon, Theme, Word, load_lexicon

CAST_SIZE = 4  # the number of people of each gender in a theme


@dataclass(frozen=True, eq=False)
class Person:
    """A character: one with a name, or one that is only known by a job."""

    name: str  # the first name; "" for a person who is known by a job only
    gender: str  # the gender, a key of the language's pronouns; "" if it is not known
    job: Word


@dataclass(frozen=True, eq=False)
class Thing:
    """An object with a property by which it can be recognised."""

    noun: Word
    adjective: Word  # the adjective by which it can be recognised


Participant = Person | Thing | Word | int  # who or what takes part in an event


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens."""

    kind: str  # the kind, a key of `events.toml`
    roles: dict[str, Participant]  # name of a role in the wordings -> who or what plays it
    cause: "Event | None"  # the earlier event that led to this one; None if there is none
    link: str  # the relation to the event before: "then", "so", "but", or ""
    state: dict[str, object]  # what changed: for example who has the object, how many are left, the mood of a person


@dataclass
class Simulation:
    """The world of one story: its people and things, their current state, and the events so far, in paragraphs.

    The fields after `seed` are the state of this world, which the events change.
    """

    lexicon: Lexicon
    rng: random.Random
    seed: int = 0  # determines the people; those of each theme are the same in all stories with the same seed
    paragraphs: list[list[Event]] = field(default_factory=lambda: [[]])
    holder: dict[Thing, Person | Word | None] = field(default_factory=dict)
    """Thing -> the person who has it, the spot where it lies, or None if nobody knows."""
    broken_things: set[Thing] = field(default_factory=set)
    coins: dict[Person, int] = field(default_factory=dict)  # person -> amount of money
    goods: dict[tuple[Person, Word], int] = field(default_factory=dict)
    """(person, kind of goods) -> how many of them the person has."""
    mood: dict[Person, str] = field(default_factory=dict)  # person -> "good" or "bad"
    skills: set[tuple[Person, Word]] = field(default_factory=set)  # which person knows how to do which task

    def __post_init__(self):
        """Choose at random the theme, the people (hero, friend, expert), and the places, things and words for plots."""
        rng, lexicon = self.rng, self.lexicon
        self.theme = rng.choice(lexicon.themes)
        theme, words = self.theme, lexicon.words
        self.place = theme.places[0]
        self.other_places = rng.sample(theme.places[1:], 2)
        people = choose_people(lexicon.language, self.seed, theme)
        self.hero = rng.choice(people)
        # If the hero and the friend have different genders, more sentences can use pronouns.
        friend_has_other_gender = rng.random() < 0.75
        others = [person for person in people if (person.gender != self.hero.gender) == friend_has_other_gender]
        self.friend = rng.choice([person for person in others if person is not self.hero])
        self.relation = rng.choice(lexicon.relations[self.friend.gender])
        self.expert = Person("", "", rng.choice([job for job in theme.people if job is not self.hero.job]))
        self.day, self.part_of_day = rng.choice(words["days"]), rng.choice(words["parts"])
        self.evening, self.weather = rng.choice(words["evenings"]), rng.choice(words["weather"])
        self.spots = rng.sample(theme.spots, 4)
        self.tasks = rng.sample(theme.tasks, 5)
        self.product = rng.choice(theme.goods)
        self.occasion = rng.choice(words["occasions"])
        self.scenes = rng.sample(theme.scenes, 2)
        self.thing = self.make_thing()
        self.skills.add((self.friend, self.tasks[0]))

    def make_thing(self) -> Thing:
        """Make an object that belongs to the theme, and that nobody has yet."""
        return Thing(self.rng.choice(self.theme.things), self.rng.choice(self.lexicon.words["adjectives"]))

    def start_paragraph(self) -> None:
        """Begin a new paragraph."""
        if self.paragraphs[-1]:
            self.paragraphs.append([])

    @property
    def events(self) -> list[Event]:
        """All events so far."""
        return [event for paragraph in self.paragraphs for event in paragraph]

    def happen(
        self, kind: str, *, cause: Event | None = None, link: str = "", state: dict | None = None, **roles: Participant
    ) -> Event:
        """Add an event.

        Args:
            link: the relation to the event before: "then", "so", "but", or "".
        """
        shared = {
            "a": self.hero, "b": self.friend, "p": self.place, "d": self.day, "e": self.part_of_day, "f": self.evening,
            "w": self.weather, "rel": self.relation,
        }  # fmt: skip
        event = Event(kind, shared | roles, cause, link, dict(state or {}))
        self.paragraphs[-1].append(event)
        return event

    def own(self, kind: str, person: Person, thing: Thing, **roles: Participant) -> Event:
        """Give a person a thing that nobody has had before; `kind` is the kind of the event, as in `happen`."""
        _require(thing not in self.holder)
        self.holder[thing] = person
        return self.happen(kind, a=person, x=thing, state={"holder": person}, **roles)

    def lose(self, person: Person, thing: Thing) -> Event:
        """Let a person lose a thing."""
        _require(self.holder.get(thing) is person)
        self.holder[thing] = None
        return self.happen("lose", a=person, x=thing, link="but", state={"holder": None})

    def take(self, kind: str, giver: Person | Word | None, taker: Person, thing: Thing, **arguments) -> Event:
        """Let a thing pass from its holder to a person; `giver` is a person, a spot or None, as in `holder`."""
        _require(self.holder.get(thing) is giver)
        self.holder[thing] = taker
        return self.happen(kind, x=thing, state={"holder": taker}, **arguments)

    def put(self, kind: str, thing: Thing, spot: Word, **arguments) -> Event:
        """Let a thing lie at a spot."""
        self.holder[thing] = spot
        return self.happen(kind, x=thing, s=spot, state={"holder": spot}, **arguments)

    def break_thing(self, kind: str, thing: Thing, **arguments) -> Event:
        """Break a thing."""
        _require(thing not in self.broken_things)
        self.broken_things.add(thing)
        return self.happen(kind, x=thing, state={"broken": True}, **arguments)

    def repair(self, repairer: Person, thing: Thing, **arguments) -> Event:
        """Repair a broken thing."""
        _require(thing in self.broken_things)
        self.broken_things.discard(thing)
        return self.happen("repair", c=repairer, x=thing, state={"broken": False}, **arguments)

    def pay(self, kind: str, person: Person, amount: int, **arguments) -> Event:
        """Let a person spend money."""
        _require(self.coins[person] >= amount)
        self.coins[person] -= amount
        return self.happen(kind, a=person, k=amount, state={"coins": self.coins[person]}, **arguments)

    def feel(self, person: Person, mood: str, cause: Event | None = None, link: str = "so") -> Event:
        """Change the mood of a person to "good" or "bad"."""
        self.mood[person] = mood
        word = self.rng.choice(self.lexicon.words[f"{mood}_moods"])
        return self.happen(f"feel_{mood}", a=person, m=word, cause=cause, link=link, state={"mood": mood})

    def set_goods(self, kind: str, person: Person, number: int, **arguments) -> Event:
        """Set the number of goods of a person."""
        _require(number >= 0)
        self.goods[person, self.product] = number
        return self.happen(kind, a=person, n=number, g=self.product, state={"count": number}, **arguments)


@cache
def choose_people(language: str, seed: int, theme: Theme) -> tuple[Person, ...]:
    """Choose the people of a theme, each with a job; they are the same in all stories with the same seed."""
    rng = random.Random(f"people {language} {seed} {theme.name}")
    names = load_lexicon(language).names
    return tuple(
        Person(name, gender, rng.choice(theme.people))
        for gender in sorted(names)
        for name in rng.sample(names[gender], CAST_SIZE)
    )


def _require(condition: bool) -> None:
    """Check the precondition of an event; if it is violated, the plot is faulty."""
    if not condition:
        raise AssertionError("an event of a plot is impossible in the state of its world")
