"""Many texts asked at once: rows in, a table of what was said out. A row that cannot be read says why in its place.

Knows no file format and no page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from bertlab.config.errors import BertlabError, MissingHead
from bertlab.explore.facts import Classification, Tags
from bertlab.explore.session import Session

# what a column of texts, and one of second texts, is usually called
TEXT_NAMES = (
    "text", "text1", "sentence", "sentence1", "document", "review", "question", "question1", "premise", "content",
    "comment", "글", "본문", "문장", "문장1", "리뷰", "감상", "댓글", "내용", "질문", "전제",
)  # fmt: skip
PAIR_NAMES = ("pair", "sentence2", "hypothesis", "text2", "passage", "question2", "문장2", "가설", "지문")


def guess_column(columns: Sequence[str], names: Iterable[str]) -> str | None:
    """The first of these columns that goes by one of the usual names, whatever its case.

    >>> guess_column(["id", "Review"], TEXT_NAMES)
    'Review'
    """
    lower = {column.lower(): column for column in reversed(columns)}
    return next((lower[name] for name in names if name in lower), None)


def ask_many(
    session: Session, question: str, texts: Sequence[tuple[str, str | None]], progress: Callable = iter
) -> list[dict[str, str | float | None]]:
    """Ask "classify" or "tag" of every (text, pair) -> a row for each, all with the same columns; what could not be
    asked has None in them and the error in "error".

    Without a pair a text is asked alone; a pair that is empty is a fault of its row.

    Args:
        progress: wraps the texts as they are taken (say, `tqdm`).

    Raises:
        MissingHead: the checkpoint has no output layer for it.
    """
    said = []
    for text, pair in progress(texts):
        row: dict[str, str | float] = {"text": text} | ({} if question == "tag" else {"pair": pair or ""})
        try:
            fact = session.tag(text) if question == "tag" else session.classify(text, pair)
            said.append(row | _columns(fact) | {"error": None})
        except MissingHead:
            raise
        except BertlabError as error:
            said.append(row | {"error": error})
    columns: dict[str, None] = dict.fromkeys(name for row in said for name in row if name != "error")
    return [{name: row.get(name) for name in (*columns, "error")} for row in said]


def _columns(fact: Classification | Tags) -> Mapping[str, str | float]:
    if isinstance(fact, Tags):
        tags = " ".join(f"{word.text}/{word.tag}" for word in fact.words)
        return {"entities": "; ".join(f"{e.label}: {e.text}" for e in fact.entities), "tags": tags}
    if fact.value is not None:
        return {"value": fact.value}
    shares = {f"p({share.label})": share.probability for share in fact.labels}
    return {"label": fact.best.label, "probability": fact.best.probability} | shares
