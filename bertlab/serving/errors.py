"""Errors as JSON: an id, and a message in the language that the client prefers."""

import json
from collections.abc import Sequence

from bertlab.config.errors import BertlabError
from bertlab.config.languages import DEFAULT, languages
from bertlab.serving.fields import MAX_TEXTS, find_routes, make_fields

MESSAGE_IDS = {
    "string_type": "serve-field-not-text",
    "string_unicode": "serve-field-not-unicode",
    "int_type": "serve-field-not-integer",
    "int_from_float": "serve-field-not-integer",
    "int_parsing_size": "serve-field-not-integer",
    "float_type": "serve-field-not-number",
    "tuple_type": "serve-field-not-list",
    "missing": "serve-field-missing",
    "extra_forbidden": "serve-field-unknown",
}
"""Type of an error of pydantic -> id of our message."""


def choose_language(header: str) -> str:
    """Choose the language of messages from the header Accept-Language.

    >>> choose_language("fr;q=0.9, ko-KR;q=0.8, en;q=0.1"), choose_language("fr"), choose_language("")
    ('ko', 'en', 'en')
    """
    preferences = []  # (minus the quality, language code), so that the preferred language comes first when sorted
    for part in header.split(","):
        code, _, quality = part.strip().partition(";q=")
        try:
            preferences.append((-float(quality or 1), code.partition("-")[0].lower()))
        except ValueError:
            continue
    return next((code for _, code in sorted(preferences, key=lambda each: each[0]) if code in languages()), DEFAULT)


def format_error(error: BertlabError, language: str) -> str:
    """Format an error as a JSON text: its id, and its message in a language."""
    message = " ".join(error.render(language).split())
    return json.dumps({"error": error.id, "message": message}, ensure_ascii=False)


def describe_invalid_fields(path: str, errors: Sequence[dict]) -> tuple[int, BertlabError]:
    """Turn the first error of pydantic about a request into an HTTP status and our error.

    Args:
        path: the route.
        errors: from `RequestValidationError.errors()`.
    """
    error = errors[0]
    kind = error["type"]
    if kind == "json_invalid":
        return 400, BertlabError("serve-json-invalid")
    if error["loc"] == ("body",):
        return 422, BertlabError("serve-body-not-object")
    names = list(make_fields(find_routes()[path]).model_fields)
    field = ".".join(str(part) for part in error["loc"][1:])[:100]
    if id := MESSAGE_IDS.get(kind):
        return 422, BertlabError(id, field=field, fields=names)
    if kind in ("greater_than_equal", "less_than_equal"):
        id = "serve-field-too-small" if kind == "greater_than_equal" else "serve-field-too-large"
        return 422, BertlabError(id, field=field, limit=next(iter(error["ctx"].values())))
    if kind in ("too_short", "too_long"):
        return 422, BertlabError("serve-list-length", field=field, limit=MAX_TEXTS)
    if kind == "finite_number":
        return 422, BertlabError("serve-field-not-number", field=field)
    return 422, BertlabError("serve-field-invalid", field=field, reason=error["msg"])
