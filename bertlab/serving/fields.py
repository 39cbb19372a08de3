"""The fields of requests: the inputs of each ability, as models of pydantic.

The page /docs describes a field with the message `serve-field-` followed by its name, and a route with the introduction
of the ability's page.
"""

from functools import cache
from typing import Annotated

from annotated_types import Interval
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from pydantic_core import PydanticCustomError

from bertlab.abilities.ability import SHOWN_ONLY, TEXT, Ability
from bertlab.abilities.registry import find_abilities

MAX_TEXTS = 64  # texts in a request, which limits the memory for hidden states
MAX_COUNT = 1000  # the largest number of candidates, tokens or sentences


def find_routes() -> dict[str, type[Ability]]:
    """Return {path: ability} of the routes that compute predictions."""
    return {f"/{name}": ability for name, ability in find_abilities("route").items()}


@cache
def make_fields(ability: type[Ability]) -> type[BaseModel]:
    """Make the model of a request. An unknown field or a value of the wrong type is an error."""
    example, fields = ability.make_example(), {}
    for name, hint in ability.inputs().items():
        marks, default = getattr(hint, "__metadata__", ()), ability.__dataclass_fields__[name].default
        if SHOWN_ONLY in marks:
            continue
        if TEXT in marks:
            hint = Annotated[hint, AfterValidator(_check_unicode)]
        options = {}
        if "tuple" in str(hint):
            options = {"strict": False, "max_length": MAX_TEXTS}  # JSON has lists only
            options |= {"min_length": 1} if name in ability.required() else {}
        elif any(isinstance(mark, Interval) and mark.le is None for mark in marks):
            options = {"le": MAX_COUNT}
        if name in ability.example:
            options |= {"examples": [getattr(example, name)]}
        default = ... if name in ability.required() else default
        fields[name] = (hint, Field(default, **options))
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model(f"{ability.__name__}Fields", __config__=config, **fields)


def _check_unicode(value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    try:
        "".join(value or ()).encode()
    except UnicodeEncodeError:  # JSON can express half of a surrogate pair
        raise PydanticCustomError("string_unicode", "not Unicode") from None
    return value
