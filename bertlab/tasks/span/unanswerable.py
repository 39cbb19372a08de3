"""Make unanswerable questions, as in SQuAD v2.0, from the answerable ones of SQuAD v1.1.

People wrote v2.0's by changing a question until its own paragraph no longer answered it (Rajpurkar et al. 2018, table
1: negation, antonym, swapped entity, mutual exclusion, no information). The ways here copy that, because a question
beside a paragraph about something else is too easy to spot. Some of the questions made are answerable after all, as 7 %
of theirs are. The word list is English.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

import numpy as np

from bertlab.config.errors import DataError

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
_WORD = r"[A-Z][\w-]*(?:['’](?!s\b)\w+)?"
_NAME = re.compile(rf"{_WORD}(?:\s+(?:of\s+|the\s+)?{_WORD})*|\d[\d,.]*\d|\d")
_SMALL = """
A After All Although An And As At Before But By Despite During Each Even For From He Her His How However If In It Its
Later Many Most No Of On One Other She Since So Some Such That The Their There These They This Those Though Through To
Under Until Upon What When Where Which While Who Whose With Within Without
"""
_MONTHS = """
January February March April May June July August September October November December
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
"""
_SMALL_WORDS, _MONTH_NAMES = frozenset(_SMALL.split()), frozenset(_MONTHS.split())
_AFTER_THE = re.compile(r"\bthe ([a-z]{4,})\b")
_PEOPLE = re.compile(r"(?:ian|ean|ish|ese|ench|eek|can)s?$")
_AUXILIARY = re.compile(r"\b(is|are|was|were|did|does|do|has|had|could|would|should)\b(?! not\b)")
_OPPOSITES = """
first/last before/after largest/smallest biggest/smallest highest/lowest most/least more/fewer more/less
oldest/youngest oldest/newest older/younger earliest/latest early/late earlier/later longest/shortest long/short
best/worst better/worse greatest/smallest greater/smaller large/small larger/smaller high/low higher/lower major/minor
main/secondary majority/minority maximum/minimum north/south northern/southern east/west eastern/western left/right
above/below inside/outside inner/outer upper/lower top/bottom front/back begin/end began/ended start/end started/ended
beginning/end open/close opened/closed win/lose won/lost rise/fall rose/fell increase/decrease increased/decreased
increasing/decreasing gain/lose gained/lost join/leave joined/left arrive/leave arrived/left enter/leave entered/left
build/destroy built/destroyed create/destroy created/destroyed found/abolish founded/abolished established/dissolved
introduced/removed add/remove added/removed buy/sell bought/sold give/receive gave/received send/receive sent/received
allow/forbid allowed/forbidden accept/reject accepted/rejected support/oppose supported/opposed agree/disagree
agreed/disagreed love/hate liked/disliked succeed/fail succeeded/failed attack/defend attacked/defended import/export
imported/exported live/die lived/died born/buried male/female men/women man/woman father/mother king/queen husband/wife
son/daughter brother/sister public/private foreign/domestic international/local legal/illegal common/rare
popular/unpopular rich/poor strong/weak hot/cold warm/cool wet/dry light/dark heavy/light fast/slow old/new
ancient/modern traditional/modern present/absent positive/negative same/different similar/different known/unknown
possible/impossible successful/unsuccessful official/unofficial direct/indirect always/never usually/rarely
often/rarely mostly/rarely with/without include/exclude included/excluded allies/enemies friend/enemy victory/defeat
"""
_OPPOSITE: dict[str, list[str]] = defaultdict(list)
for _pair in _OPPOSITES.split():
    _one, _other = _pair.split("/")
    _OPPOSITE[_one].append(_other)
    _OPPOSITE[_other].append(_one)


def add_unanswerable(rows: Sequence[Mapping], per_answered: float, seed: int = 0) -> list[dict]:
    """The rows, and for every answered one `per_answered` more that have no answer; they come last.

    A made row has the columns of its origin, no answers, and an id that says how it was made: "ID.removed" (the
    answer's sentence was cut out), "ID.elsewhere" (the paragraph of the article that shares most words with the
    question, without the answer; ".fitted": names it lacks were changed for names it has), "ID.swapped" (a name, number
    or noun of the question changed for another of its shape), "ID.opposite", "ID.negated". It is a pure
    function of (rows, seed).

    Args:
        rows: SQuAD columns with title; rows of one title are an article.
        per_answered: 0 to 1; 0.5 makes a third of all questions unanswerable, as in v2.0's training set.

    Raises:
        DataError: a share outside of that, or rows that no way fits.
    """
    if not 0 < per_answered <= 1:
        raise DataError("unanswerable-share-invalid", share=per_answered)
    articles = _articles(rows)
    answered = [number for number, row in enumerate(rows) if row["answers"]["text"]]
    count, made = round(per_answered * len(answered)), []
    for place in np.random.default_rng([seed, 2018]).permutation(len(answered)):
        if len(made) == count:
            break
        row = rows[answered[place]]
        rng = np.random.default_rng([seed, answered[place]])
        for way in rng.choice(len(_WAYS), len(_WAYS), replace=False, p=_SHARES):
            found = _WAYS[way](row, articles[row.get("title", "")], rng)
            if found is not None:
                name, question, context = found
                empty = {"text": [], "answer_start": []}
                made.append(
                    {**row, "id": f"{row['id']}.{name}", "question": question, "context": context, "answers": empty}
                )
                break
    if count and not made:
        raise DataError("unanswerable-none-made")
    return [*map(dict, rows), *made]


# -- an article and what stands in it ----------------------------------------------------------------------------


class _Article:
    """The paragraphs of one title."""

    def __init__(self) -> None:
        self.paragraphs: dict[str, None] = {}

    @cached_property
    def words(self) -> dict[str, set[str]]:
        return {paragraph: _words(paragraph) for paragraph in self.paragraphs}

    @cached_property
    def lower(self) -> dict[str, str]:
        return {paragraph: paragraph.lower() for paragraph in self.paragraphs}

    @cached_property
    def names(self) -> dict[str, dict[str, list[str]]]:
        """Paragraph -> shape -> its names and numbers of that shape."""
        return {paragraph: _by_shape(names(paragraph)) for paragraph in self.paragraphs}

    @cached_property
    def all_names(self) -> dict[str, list[str]]:
        return _by_shape(
            dict.fromkeys(name for shapes in self.names.values() for found in shapes.values() for name in found)
        )


def _articles(rows: Sequence[Mapping]) -> dict[str, _Article]:
    articles: dict[str, _Article] = defaultdict(_Article)
    for row in rows:
        articles[row.get("title", "")].paragraphs[row["context"]] = None
    return articles


def _by_shape(found: Iterable[str]) -> dict[str, list[str]]:
    shapes: dict[str, list[str]] = defaultdict(list)
    for name in found:
        shapes[shape(name)].append(name)
    return shapes


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def sentences(text: str) -> list[tuple[int, int]]:
    """Begin and end of each sentence, the space after it not counted.

    >>> [(a, b) for a, b in sentences("It rained. We left! Why?")]
    [(0, 10), (11, 19), (20, 24)]
    """
    cuts = [(m.start(), m.end()) for m in _SENTENCE_END.finditer(text)]
    begins, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return list(zip(begins, ends, strict=True))


def names(text: str) -> list[str]:
    """Numbers and runs of capitalised words, but no single word at the beginning of a sentence.

    >>> names("Rain fell on New York. Later, in May 1987, 3.5 million left the Bank of Chicago.")
    ['New York', 'May', '1987', '3.5', 'Bank of Chicago']
    """
    begins = {begin for begin, _ in sentences(text)}
    found = []
    for match in _NAME.finditer(text):
        first = match.start() in begins or text[match.start() - 1] in "\"'(“"
        small, _, rest = match[0].partition(" ")
        name = rest if small in _SMALL_WORDS else match[0]
        plain = first and name[:1].isalpha() and " " not in match[0]
        if name and name[0] not in "ot" and not plain and name not in found:
            found.append(name)
    return found


def shape(name: str) -> str:
    """What a name can be changed for: another of the same shape.

    >>> [shape(name) for name in ("1987", "3.5", "May", "Chinese", "New York", "Paris")]
    ['year', 'number', 'month', 'people', 'name 2', 'name 1']
    """
    if name[0].isdigit():
        return "year" if re.fullmatch(r"1\d{3}|20\d{2}", name) else "number"
    if name in _MONTH_NAMES:
        return "month"
    if _PEOPLE.search(name) and " " not in name:
        return "people"
    return f"name {min(3, len(name.split()))}"


# -- the ways ----------------------------------------------------------------------------------------------------

Made = tuple[str, str, str] | None  # how, question, passage; None where a way does not fit


def _removed(row: Mapping, article: _Article, rng: np.random.Generator) -> Made:
    """The passage without the answer's sentence, if nothing else in it says the answer."""
    context, begin = row["context"], row["answers"]["answer_start"][0]
    answer = row["answers"]["text"][0]
    own = [place for place in sentences(context) if place[0] < begin + len(answer) and place[1] > begin]
    left = (context[: own[0][0]] + context[own[-1][1] :].lstrip()).strip()
    if len(sentences(left)) < 2 or answer.strip().lower() in left.lower():
        return None
    return "removed", row["question"], left


def _elsewhere(row: Mapping, article: _Article, rng: np.random.Generator) -> Made:
    """Another paragraph of the article that shares as many words as possible, but does not contain any answer."""
    question_words, answers = _words(row["question"]), [text.strip().lower() for text in row["answers"]["text"]]
    others = [
        (len(question_words & words), paragraph)
        for paragraph, words in article.words.items()
        if paragraph != row["context"] and not any(text in article.lower[paragraph] for text in answers)
    ]
    most, paragraph = max(others, key=itemgetter(0), default=(0, ""))
    if most < 2:
        return None
    lacking = [name for name in names(row["question"]) if name not in paragraph]
    if not lacking:
        return "elsewhere", row["question"], paragraph
    question = row["question"]
    for name in lacking:
        fitting = _instead(name, article.names[paragraph][shape(name)], question)
        if not fitting:
            return None
        question = _replaced(question, name, fitting[rng.integers(len(fitting))])
    return "elsewhere.fitted", question, paragraph


def _swapped(row: Mapping, article: _Article, rng: np.random.Generator) -> Made:
    """The question with one name, number or noun changed; rather for one of the passage, but not of the answer's
    sentence, which could make the question a good one about its other half."""
    context, question, begin = row["context"], row["question"], row["answers"]["answer_start"][0]
    near = next(context[a:b] for a, b in sentences(context) if b > begin)
    answers = " ".join(row["answers"]["text"])
    choices = []
    for name in names(question):
        there = [other for other in article.names[context][shape(name)] if other not in near]
        away = [other for other in article.all_names[shape(name)] if other not in context]
        for source in (there, away):
            choices.append([(name, other) for other in _instead(name, source, f"{question} {answers}")])
    nouns = [word for word in dict.fromkeys(_AFTER_THE.findall(context)) if word not in near]
    for word in _AFTER_THE.findall(question):
        plural = word.endswith("s")
        choices.append([(word, other) for other in nouns if other not in question and other.endswith("s") == plural])
    choices = [pairs for pairs in choices if pairs]
    if not choices:
        return None
    pairs = choices[rng.integers(len(choices))]
    return "swapped", _replaced(question, *pairs[rng.integers(len(pairs))]), context


def _opposite(row: Mapping, article: _Article, rng: np.random.Generator) -> Made:
    found = [word for word in re.findall(r"[a-z]+", row["question"]) if word in _OPPOSITE]
    if not found:
        return None
    word = found[rng.integers(len(found))]
    others = _OPPOSITE[word]
    return "opposite", _replaced(row["question"], word, others[rng.integers(len(others))]), row["context"]


def _negated(row: Mapping, article: _Article, rng: np.random.Generator) -> Made:
    """ "Who was" becomes "Who wasn't", "Who was not" or "Who was never"."""
    match = _AUXILIARY.search(row["question"])
    if match is None:
        return None
    word = match[0]
    apart = f"{word} {('not', 'never')[rng.integers(2)]}"
    # after did, does and do the subject comes next, and a word before it would not be English
    joined = word in ("did", "does", "do") or rng.random() < 0.5
    negation = f"{word}n't" if joined else apart
    return "negated", row["question"][: match.start()] + negation + row["question"][match.end() :], row["context"]


_WAYS: tuple[Callable[[Mapping, _Article, np.random.Generator], Made], ...] = (
    _removed, _elsewhere, _swapped, _opposite, _negated,
)  # fmt: skip
_SHARES = (0.2, 0.2, 0.3, 0.2, 0.1)


def _instead(name: str, others: Iterable[str], taken: str) -> list[str]:
    """Those that are not part of `taken`, nor the name of them."""
    taken = taken.lower()
    return [other for other in others if other.lower() not in taken and name not in other]


def _replaced(text: str, word: str, other: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: other, text, count=1)
