"""Errors that are shown to users. Each has an id and parameters; its message in each language is in a catalogue."""

from bertlab.config.languages import DEFAULT, render


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or the name of its type if the message is empty.

    >>> first_line(OSError("disk full\\nin write()")), first_line(TimeoutError())
    ('disk full', 'TimeoutError')
    """
    return next(iter(str(error).splitlines()), "") or type(error).__name__


class BertlabError(ValueError):
    """An error that the user can correct, such as a wrong argument or a damaged file. Its message is one line.

    Args:
        params: the parameters of the message; a `Message` or another `BertlabError` is rendered in the same language.

    >>> error = TextError("text-too-long", tokens=70, limit=64)
    >>> error.id, error.params["limit"], str(error)
    ('text-too-long', 64, 'the text has 70 tokens, but the model reads at most 64: shorten the text')
    """

    def __init__(self, id: str, /, **params: object):
        super().__init__(id)
        self.id, self.params = id, params

    def render(self, language: str = DEFAULT) -> str:
        return render(self.id, language, **self.params)

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self):
        # By default an exception loses its keyword parameters when it is sent to another process.
        return _rebuild_error, (type(self), self.id, self.params)


def _rebuild_error(error_type: type[BertlabError], id: str, params: dict[str, object]) -> BertlabError:
    return error_type(id, **params)


class CheckpointError(BertlabError):
    """A checkpoint is missing or damaged, is not a BERT, or its parts do not fit together."""


class MissingHead(BertlabError):
    """The checkpoint lacks the output layer for a prediction, such as the MLM layer for a masked token."""


class TextError(BertlabError):
    """The model cannot process a text, for example because the text is empty or too long."""


class DataError(BertlabError):
    """A corpus, data set or file of predictions is missing, or is not in the expected format."""


class NoSuchSplit(DataError):
    """A data set exists but does not have the requested split."""


class InterventionError(BertlabError):
    """An intervention cannot be parsed, or does not fit the model or the input."""
