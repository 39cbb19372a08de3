"""The routes, and the fields of their requests.

The page /docs describes the route /NAME with the message `serve-route-NAME`. It describes a field with the message
`serve-field-` followed by the name of the field.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

MAX_CANDIDATES = 1000  # the maximum of the fields `top_k` and `n_best`
MAX_TEXTS = 64  # the maximum number of texts in a request to /embed, which limits the memory for hidden states


def _check_unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON can express half of a surrogate pair
        raise PydanticCustomError("string_unicode", "not Unicode") from None
    return text


Text = Annotated[str, AfterValidator(_check_unicode)]


class RequestFields(BaseModel):
    """The base class of all requests. An unknown field or a value of the wrong type is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class FillMaskFields(RequestFields):
    """The fields of a request to /fill-mask."""

    text: Text = Field(examples=["The cat sat on the [MASK]."])
    pair: Text | None = None
    top_k: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)] = 5


class ClassifyFields(RequestFields):
    """The fields of a request to /classify."""

    text: Text = Field(examples=["A quiet, lovely film."])
    pair: Text | None = None


class TagFields(RequestFields):
    """The fields of a request to /tag."""

    text: Text = Field(examples=["Ada Lovelace was born in London."])


class AnswerFields(RequestFields):
    """The fields of a request to /answer."""

    question: Text = Field(examples=["Who carried the lantern?"])
    passage: Text = Field(examples=["The keeper of the old mill carried the lantern."])
    n_best: Annotated[int, Field(ge=1, le=MAX_CANDIDATES)] = 5
    max_answer_tokens: Annotated[int, Field(ge=1, le=512)] = 30
    threshold: float | None = None


class EmbedFields(RequestFields):
    """The fields of a request to /embed."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)] = Field(
        examples=[["Rain fell on the harbour.", "It rained."]]
    )


class NextSentenceFields(RequestFields):
    """The fields of a request to /nsp."""

    first: Text = Field(examples=["She opened the window."])
    second: Text = Field(examples=["Cold air came in."])


@dataclass(frozen=True)
class Route:
    """A route that computes predictions."""

    command: str
    """The command that computes the same result: a key of `explore.queries.PREPARE_FUNCTIONS`."""
    fields: type[RequestFields]
    """The fields of a request."""


ROUTES = {
    "/fill-mask": Route("fill-mask", FillMaskFields),
    "/classify": Route("classify", ClassifyFields),
    "/tag": Route("tag", TagFields),
    "/answer": Route("answer", AnswerFields),
    "/embed": Route("embed", EmbedFields),
    "/nsp": Route("next-sentence", NextSentenceFields),
}
"""Path -> route."""
