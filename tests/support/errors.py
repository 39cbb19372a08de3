"""Assertions about errors: by type, id and parameters, never by wording."""

import contextlib
import io
from contextlib import contextmanager
from unittest import mock

import pytest

from bertlab.cli import dispatch
from bertlab.config.errors import BertlabError


@contextmanager
def raises_error(kind: type[BertlabError], id: str, /, **params: object):
    """Expect a `BertlabError` of this type with this id; yield `pytest`'s record.

    Each of `params` must equal the error's parameter of that name; the error may have others.

    with raises_error(TextError, "text-too-long", limit=64):
        session.fill_mask(text)
    """
    with pytest.raises(kind) as record:
        yield record
    error = record.value
    assert error.id == id, f"{error.id!r} ({error}), expected {id!r}"
    differing = {name: error.params.get(name) for name, value in params.items() if error.params.get(name) != value}
    assert not differing, f"{id}: {differing}"
    assert "\n" not in str(error)


def reason_of(error: BertlabError) -> object:
    """The innermost error or message among the parameters "error" and "reason"."""
    inner = error.params.get("error", error.params.get("reason"))
    return reason_of(inner) if hasattr(inner, "params") else error


@contextmanager
def raises_row_error(id: str, /, row: int | None = None, **params: object):
    """Expect the error that stops at an invalid row, number `row` if given; check id and parameters of its reason."""
    with pytest.raises(BertlabError) as record:
        yield record
    error = record.value
    assert error.id == "invalid-row-stops", f"{error.id} ({error})"
    assert row is None or error.params["error"].params["row"] == row, str(error)
    reason = reason_of(error)
    assert reason.id == id, f"{reason.id!r} ({error}), expected {id!r}"
    assert {name: reason.params.get(name) for name in params} == params
    assert "\n" not in str(error)


def command_error(*words: str) -> BertlabError:
    """Run a `bertlab` command that must fail with exit code 2 and print one line; return the error that it prints."""
    errors, stderr = [], io.StringIO()
    print_error = dispatch._print_error

    def record_error(error: BertlabError) -> int:
        errors.append(error)
        return print_error(error)

    with mock.patch.object(dispatch, "_print_error", record_error), contextlib.redirect_stderr(stderr):
        code = dispatch.main(words)
    assert code == 2, (code, stderr.getvalue())
    (error,) = errors
    assert stderr.getvalue() == f"bertlab: {error}\n"
    return error
