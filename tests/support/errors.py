"""Assertions about errors: by type, id and parameters, never by wording."""

from contextlib import contextmanager

import pytest

from bertlab.config.errors import BertlabError


@contextmanager
def raises_error(kind: type[BertlabError], id: str, **params: object):
    """Expect a `BertlabError` of this type with this id, and with at least these parameters; yield `pytest`'s record.

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
