"""Errors that a user can meet: each has an id and parameters, and is worded by a catalogue of the reader's language.

An error is one line: what is wrong and what to do. The command line prints it with exit code 2, the app shows it where
the user is. The wordings are in `bertlab/locales/*/errors`.
"""

from bertlab.config.languages import DEFAULT, render


def first_line(error: BaseException) -> str:
    """The first line of another library's error message, or the error's type where it has none.

    >>> first_line(OSError("disk full\\nin write()")), first_line(TimeoutError())
    ('disk full', 'TimeoutError')
    """
    return next(iter(str(error).splitlines()), "") or type(error).__name__


class BertlabError(ValueError):
    """A mistake of the user, or a file that does not hold what it should. Its text is one line.

    Args:
        id: the id of its message in `bertlab/locales/*/errors`.
        params: the parameters of the message; a `Message` or another `BertlabError` is worded in the same language.

    >>> error = TextError("text-too-long", tokens=70, limit=64)
    >>> error.id, error.params["limit"], str(error)
    ('text-too-long', 64, 'the text has 70 tokens, the model reads at most 64: shorten it')
    """

    def __init__(self, id: str, /, **params: object):
        super().__init__(id)
        self.id, self.params = id, params

    def render(self, language: str = DEFAULT) -> str:
        """The error in a language, one line."""
        return render(self.id, language, **self.params)

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self):
        # keyword parameters do not survive the default way to send an exception to another process
        return _rebuilt, (type(self), self.id, self.params)


def _rebuilt(kind: type[BertlabError], id: str, params: dict[str, object]) -> BertlabError:
    return kind(id, **params)


class CheckpointError(BertlabError):
    """A checkpoint that is missing or damaged, is not a BERT, or whose parts do not fit together."""


class MissingHead(BertlabError):
    """A prediction for which this checkpoint has no task head (say, a masked token from a bare encoder)."""


class TextError(BertlabError):
    """A text that cannot be used as given: empty, or too long for the model."""


class DataError(BertlabError):
    """A corpus, data set or predictions file that cannot be read as described."""


class NoSuchSplit(DataError):
    """A data set that exists but does not have this split."""


class InterventionError(BertlabError):
    """An intervention on a layer, head or position that the model or the input does not have."""
