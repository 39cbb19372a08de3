"""The one kind of error a user sees: a single line saying what is wrong and what to do.

Knows nothing of terminals or pages; the command line prints it with exit code 2, the app shows it where the user is.
"""


def first_line(error: BaseException) -> str:
    """The first line of what an error of a library says, its kind where it says nothing.

    >>> first_line(OSError("disk full\\nin write()")), first_line(TimeoutError())
    ('disk full', 'TimeoutError')
    """
    return next(iter(str(error).splitlines()), "") or type(error).__name__


class BertlabError(ValueError):
    """A user's mistake, or a file that is not what it claims; its text is one clear line."""


class CheckpointError(BertlabError):
    """A checkpoint that is missing, damaged, foreign or of the wrong shape."""


class MissingHead(BertlabError):
    """A question that this checkpoint has no output layer for (say, a masked word asked of a bare encoder)."""


class TextError(BertlabError):
    """A text that cannot be used as given: empty, or too long for the model."""


class DataError(BertlabError):
    """A corpus, data set or predictions file that cannot be read as described."""


class NoSuchSplit(DataError):
    """A data set that is there and has no such part."""


class SurgeryError(BertlabError):
    """A change asked of a layer, head or position that the model or the input does not have."""
