"""The table of abilities: each folder of this package whose `__init__.py` has `ABILITIES` is in it."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from bertlab import abilities
from bertlab.abilities.ability import Ability


@cache
def find_abilities(door: str) -> dict[str, type[Ability]]:
    """Return {name: ability} of those that are offered as a "command", a "route" or a "method".

    >>> find_abilities("route")["answer"].needs
    ('span',)
    """
    folders = (module.name for module in iter_modules(abilities.__path__) if module.ispkg)
    packages = [import_module(f"{abilities.__name__}.{folder}") for folder in folders]
    declared = [ability for package in packages for ability in getattr(package, "ABILITIES", ())]
    return {ability.name: ability for ability in declared if door in ability.doors}
