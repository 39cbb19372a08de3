"""The wordings of events: texts with slots, parsed once.

A slot is `{role.case:form|particles}`, where all parts but the role are optional.

- case: how a person is named: `subj` (the default), `obj`, `poss`, `own` (a pronoun that refers to the subject), `name`
  (never a pronoun), `job`.
- form: a form of the word by `rules.toml`, such as `plural`; for a thing: `noun` (without its adjective) or `bare`
  (without an article).
- particles: what follows the word, as in Korean, depending on the last letter of the word. Slashes separate the
  particle after a consonant, the one after a vowel and, optionally, the one after the consonant L. A single particle
  is used after every letter.

A wording that begins with "~" takes no connective before it.
"""

import re
from dataclasses import dataclass

# a slot; its groups are the role, the case, the form and the particles
SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::(\w+))?(?:\|([^}]+))?\}")
FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3  # the code points of 가 and 힣
# From 가 on, each group of 28 syllables has one initial consonant and one vowel. The first syllable of a group has no
# final consonant, and each of the others has a different one.
NUM_FINALS = 28
FINAL_L = 8  # the index of the final ㄹ in a group


@dataclass(frozen=True)
class Slot:
    """A gap in a wording."""

    role: str  # the role, in the event, of whoever or whatever fills the slot
    case: str  # how a person is named; "subj" if the wording does not say it
    form: str  # the form of the word; "" for the base
    particles: tuple[str, ...]  # the particle after a consonant, after a vowel, and after L; () for none


@dataclass(frozen=True)
class Wording:
    """A parsed text that tells an event or asks about it."""

    parts: tuple[str | Slot, ...]  # texts and slots in order
    takes_connective: bool  # whether a connective may stand before it

    @property
    def slots(self) -> list[Slot]:
        return [part for part in self.parts if isinstance(part, Slot)]


def parse_wording(text: str) -> Wording:
    """Parse a wording.

    >>> parse_wording("~{a} saw {animal:a}.").slots[1].form
    'a'
    """
    takes_connective = not text.startswith("~")
    text = text.removeprefix("~")
    parts: list[str | Slot] = []
    end = 0
    for match in SLOT.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        role, case, form, particle_list = match.groups()
        particles = tuple(particle_list.split("/")) if particle_list else ()
        parts.append(Slot(role, case or "subj", form or "", particles * 2 if len(particles) == 1 else particles))
        end = match.end()
    if end < len(text):
        parts.append(text[end:])
    return Wording(tuple(parts), takes_connective)


def choose_particle(text: str, particles: tuple[str, ...]) -> str:
    """Choose the particle (after a consonant, after a vowel, after L) that fits the last letter of a text."""
    code = ord(text[-1]) if text else 0
    final = (code - FIRST_SYLLABLE) % NUM_FINALS if FIRST_SYLLABLE <= code <= LAST_SYLLABLE else 0
    if final == FINAL_L:
        return particles[-1] if len(particles) == 3 else particles[0]
    return particles[0] if final else particles[1]
