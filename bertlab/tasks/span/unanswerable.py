"""Generate unanswerable questions, as in SQuAD v2.0, from the answerable ones of SQuAD v1.1.

The unanswerable questions of v2.0 were written by people, who changed a question until its own paragraph no longer
answered it (Rajpurkar et al. 2018, table 1: negation, antonym, swapped entity, mutual exclusion, no information). The
methods of this module imitate such changes, because a question about an unrelated paragraph is too easy to recognise.
Some generated questions can still be answered, as can 7 % of the questions that people wrote for v2.0. The word lists
are English.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from operator import itemgetter

import numpy as np

from bertlab.config.errors import DataError
from bertlab.config.languages import DEFAULT, read_data

# the end of a sentence: a mark, optional closing quotes and brackets, and a space before a capital letter or a digit
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
# a capitalised word
_WORD = r"[A-Z][\w-]*(?:['’](?!s\b)\w+)?"
# a name: a number, or capitalised words, which may have "of" and "the" between them
_NAME = re.compile(rf"{_WORD}(?:\s+(?:of\s+|the\s+)?{_WORD})*|\d[\d,.]*\d|\d")
# a word of at least four lower-case letters after "the", which is usually a noun
_NOUN_AFTER_THE = re.compile(r"\bthe ([a-z]{4,})\b")
# the usual endings of words for peoples and their languages, such as Italian, Danish, Chinese
_NATIONALITY = re.compile(r"(?:ian|ean|ish|ese|ench|eek|can)s?$")
# an auxiliary verb that is not negated yet
_AUXILIARY = re.compile(r"\b(is|are|was|were|did|does|do|has|had|could|would|should)\b(?! not\b)")
_WORDS = {name: frozenset(text.split()) for name, text in read_data("unanswerable", DEFAULT).items()}
_OPPOSITES_BY_WORD: dict[str, list[str]] = defaultdict(list)  # word -> its opposites, in both directions
for _pair in read_data("unanswerable", DEFAULT)["opposites"].split():
    for _word, _opposite in permutations(_pair.split("/")):
        _OPPOSITES_BY_WORD[_word].append(_opposite)


def add_unanswerable(rows: Sequence[Mapping], per_answerable: float, seed: int = 0) -> list[dict]:
    """Append generated unanswerable questions, about `per_answerable` of them for each answerable question.

    A generated row has the columns of the original row, no answers, and an id that names the method:

    - "ID.removed": the sentence with the answer is removed.
    - "ID.elsewhere": the passage is replaced with the paragraph of the same article that shares the most words with the
      question and does not contain the answer.
    - "ID.elsewhere.fitted": in addition, if a name in the question does not occur in the new passage, a name from the
      new passage replaces it.
    - "ID.swapped": a name, number or noun in the question is replaced with another one of the same kind.
    - "ID.opposite": a word in the question is replaced with its opposite.
    - "ID.negated": the auxiliary verb of the question is negated.

    Args:
        rows: questions with the columns of SQuAD; rows with the same title belong to one article.
        per_answerable: above 0 and at most 1; with 0.5, a third of all questions become unanswerable, as in the
            training set of v2.0.
    """
    if not 0 < per_answerable <= 1:
        raise DataError("unanswerable-share-invalid", share=per_answerable)
    articles: dict[str, _Article] = defaultdict(_Article)
    for row in rows:
        articles[row.get("title", "")].paragraphs[row["context"]] = None
    answerable = [index for index, row in enumerate(rows) if row["answers"]["text"]]
    count, generated = round(per_answerable * len(answerable)), []
    for index in np.random.default_rng([seed, 2018]).permutation(len(answerable)):
        if len(generated) == count:
            break
        row = rows[answerable[index]]
        rng = np.random.default_rng([seed, answerable[index]])
        for method in rng.choice(len(_METHODS), len(_METHODS), replace=False, p=_METHOD_PROBABILITIES):
            change = _METHODS[method](row, articles[row.get("title", "")], rng)
            if change is not None:
                name, question, context = change
                changed = {"id": f"{row['id']}.{name}", "question": question, "context": context}
                generated.append(row | changed | {"answers": {"text": [], "answer_start": []}})
                break
    if count and not generated:
        raise DataError("unanswerable-none-made")
    return [*map(dict, rows), *generated]


# -- articles: words, names and sentences -------------------------------------------------------------------------


class _Article:
    """The distinct paragraphs of the rows with one title."""

    def __init__(self) -> None:
        self.paragraphs: dict[str, None] = {}  # an ordered set

    @cached_property
    def words(self) -> dict[str, set[str]]:
        """The words of each paragraph, in lower case."""
        return {paragraph: _find_long_words(paragraph) for paragraph in self.paragraphs}

    @cached_property
    def lowercase_text(self) -> dict[str, str]:
        return {paragraph: paragraph.lower() for paragraph in self.paragraphs}

    @cached_property
    def names(self) -> dict[str, dict[str, list[str]]]:
        """The names and numbers of each paragraph, by kind (see `find_name_kind`)."""
        return {paragraph: _group_by_kind(find_names(paragraph)) for paragraph in self.paragraphs}

    @cached_property
    def all_names(self) -> dict[str, list[str]]:
        return _group_by_kind(
            dict.fromkeys(name for groups in self.names.values() for group in groups.values() for name in group)
        )


def _group_by_kind(names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[find_name_kind(name)].append(name)
    return groups


def _find_long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Find (first character, character after the last) of each sentence; the space after a sentence is excluded.

    >>> [(a, b) for a, b in find_sentences("It rained. We left! Why?")]
    [(0, 10), (11, 19), (20, 24)]
    """
    gaps = [(match.start(), match.end()) for match in _SENTENCE_END.finditer(text)]
    begins, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    return list(zip(begins, ends, strict=True))


def find_names(text: str) -> list[str]:
    """Find numbers and runs of capitalised words, except single words at the beginning of a sentence.

    >>> find_names("Rain fell on New York. Later, in May 1987, 3.5 million left the Bank of Chicago.")
    ['New York', 'May', '1987', '3.5', 'Bank of Chicago']
    """
    begins = {begin for begin, _ in find_sentences(text)}
    names = []
    for match in _NAME.finditer(text):
        starts_sentence = match.start() in begins or text[match.start() - 1] in "\"'(“"
        first_word, _, other_words = match[0].partition(" ")
        name = other_words if first_word in _WORDS["function_words"] else match[0]
        may_be_ordinary_word = starts_sentence and name[:1].isalpha() and " " not in match[0]
        # without its function word, a match such as "One of America" leaves "of America", which is not a name
        # (the first letter of "of" and "the" is o or t)
        if name and name[0] not in "ot" and not may_be_ordinary_word and name not in names:
            names.append(name)
    return names


def find_name_kind(name: str) -> str:
    """Find the kind of a name, such as "year"; a name is only replaced with another name of the same kind.

    Days of the week have the kind "month" too.

    >>> [find_name_kind(name) for name in ("1987", "3.5", "May", "Chinese", "New York", "Paris")]
    ['year', 'number', 'month', 'people', 'name 2', 'name 1']
    """
    if name[0].isdigit():
        return "year" if re.fullmatch(r"1\d{3}|20\d{2}", name) else "number"
    if name in _WORDS["months_and_days"]:
        return "month"
    if _NATIONALITY.search(name) and " " not in name:
        return "people"
    return f"name {min(3, len(name.split()))}"


# -- methods -----------------------------------------------------------------------------------------------------

Change = tuple[str, str, str] | None  # (name of the method, question, passage); None if the method cannot be applied


def _remove_sentence(row: Mapping, article: _Article, rng: np.random.Generator) -> Change:
    """Remove the sentence with the answer; None if the answer remains elsewhere, or fewer than two sentences remain."""
    context, begin = row["context"], row["answers"]["answer_start"][0]
    answer = row["answers"]["text"][0]
    removed = [span for span in find_sentences(context) if span[0] < begin + len(answer) and span[1] > begin]
    shorter_passage = (context[: removed[0][0]] + context[removed[-1][1] :].lstrip()).strip()
    if len(find_sentences(shorter_passage)) < 2 or answer.strip().lower() in shorter_passage.lower():
        return None
    return "removed", row["question"], shorter_passage


def _change_paragraph(row: Mapping, article: _Article, rng: np.random.Generator) -> Change:
    """Replace the passage with the paragraph that shares the most words with the question and contains no answer."""
    question_words = _find_long_words(row["question"])
    answers = [text.strip().lower() for text in row["answers"]["text"]]
    candidates = [
        (len(question_words & words), paragraph)
        for paragraph, words in article.words.items()
        if paragraph != row["context"] and not any(text in article.lowercase_text[paragraph] for text in answers)
    ]
    num_shared_words, paragraph = max(candidates, key=itemgetter(0), default=(0, ""))
    if num_shared_words < 2:
        return None
    missing = [name for name in find_names(row["question"]) if name not in paragraph]
    if not missing:
        return "elsewhere", row["question"], paragraph
    question = row["question"]
    for name in missing:
        replacements = _select_replacements(name, article.names[paragraph][find_name_kind(name)], question)
        if not replacements:
            return None
        question = _replace_word(question, name, replacements[rng.integers(len(replacements))])
    return "elsewhere.fitted", question, paragraph


def _swap_name(row: Mapping, article: _Article, rng: np.random.Generator) -> Change:
    """Replace a name, number or noun in the question with a different one from the passage or its article.

    The replacement must not occur in the sentence with the answer; otherwise the question might remain answerable.
    """
    context, question, begin = row["context"], row["question"], row["answers"]["answer_start"][0]
    answer_sentence = next(context[a:b] for a, b in find_sentences(context) if b > begin)
    answers = " ".join(row["answers"]["text"])
    choices = []
    for name in find_names(question):
        in_passage = [other for other in article.names[context][find_name_kind(name)] if other not in answer_sentence]
        in_article = [other for other in article.all_names[find_name_kind(name)] if other not in context]
        for source in (in_passage, in_article):
            choices.append([(name, other) for other in _select_replacements(name, source, f"{question} {answers}")])
    nouns = [word for word in dict.fromkeys(_NOUN_AFTER_THE.findall(context)) if word not in answer_sentence]
    for word in _NOUN_AFTER_THE.findall(question):
        plural = word.endswith("s")
        choices.append([(word, other) for other in nouns if other not in question and other.endswith("s") == plural])
    choices = [pairs for pairs in choices if pairs]
    if not choices:
        return None
    pairs = choices[rng.integers(len(choices))]
    return "swapped", _replace_word(question, *pairs[rng.integers(len(pairs))]), context


def _use_opposite(row: Mapping, article: _Article, rng: np.random.Generator) -> Change:
    words = [word for word in re.findall(r"[a-z]+", row["question"]) if word in _OPPOSITES_BY_WORD]
    if not words:
        return None
    word = words[rng.integers(len(words))]
    opposites = _OPPOSITES_BY_WORD[word]
    return "opposite", _replace_word(row["question"], word, opposites[rng.integers(len(opposites))]), row["context"]


def _negate(row: Mapping, article: _Article, rng: np.random.Generator) -> Change:
    """Negate the auxiliary verb: "Who was" becomes "Who wasn't", "Who was not" or "Who was never"."""
    match = _AUXILIARY.search(row["question"])
    if match is None:
        return None
    word = match[0]
    two_words = f"{word} {('not', 'never')[rng.integers(2)]}"
    # the subject follows "did", "does" and "do", so "not" would stand before the subject, which is ungrammatical
    use_contraction = word in ("did", "does", "do") or rng.random() < 0.5
    negation = f"{word}n't" if use_contraction else two_words
    return "negated", row["question"][: match.start()] + negation + row["question"][match.end() :], row["context"]


# the methods of changing a question; each is a function: (row, its article, rng) -> `Change`
_METHODS: tuple[Callable[[Mapping, _Article, np.random.Generator], Change], ...] = (
    _remove_sentence, _change_paragraph, _swap_name, _use_opposite, _negate,
)  # fmt: skip
_METHOD_PROBABILITIES = (0.2, 0.2, 0.3, 0.2, 0.1)  # the probability that each of `_METHODS` is tried first


def _select_replacements(name: str, others: Iterable[str], text: str) -> list[str]:
    """Select the names that can replace `name`: they do not occur in `text` and do not contain `name`."""
    text = text.lower()
    return [other for other in others if other.lower() not in text and name not in other]


def _replace_word(text: str, word: str, other: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: other, text, count=1)
