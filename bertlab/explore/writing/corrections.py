"""Suggestions for spelling and spacing: single changes of a suspicious word that make the whole text more probable.

A candidate is a word that differs by one letter (`text.letter_edits`), a word split in two, or two words joined. The
candidates of each suspicious word are first compared with all tokens of the word masked, which takes one input for each
number of tokens; the best ones then from left to right, as the surprise of a word is computed. The best of these are
put into the text, and the change of its pseudo-log-likelihood decides. A suggestion is made only if this gain exceeds a
margin.

No list of words is used: a rare right word may lose to a frequent similar one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bertlab.explore.writing.masked_inputs import Query, compute_log_probs
from bertlab.explore.writing.surprise import TextPart, make_part, score_parts, split_text
from bertlab.nn.bert import Bert
from bertlab.text.letter_edits import list_edits
from bertlab.text.tokenizers.wordpiece import Tokenizer

MARGIN = 6.0  # nats; `bertlab bench writing` tunes it
MAX_SUSPECTS = 4  # the most surprising words of a part that are examined
MIN_SURPRISE = 4.0  # nats; less surprising words are never examined
MAX_WORD = 20  # characters; longer words have too many edits
MAX_TRIED = 4  # candidates of a word that are put into the text
MAX_TRIED_IN_PART = 10  # candidates of all words of a part


@dataclass(frozen=True)
class Correction:
    """A suggested change of a text."""

    start: int
    """The index of the first character that is replaced."""
    end: int
    """The index after the last one."""
    original: str
    """What stands there."""
    replacement: str
    """What is suggested instead."""
    kind: str
    """"letter" (one letter differs), "split" (a space is inserted) or "join" (a space is removed)."""
    gain: float
    """How far the pseudo-log-likelihood of the text rises, in nats."""


@dataclass(frozen=True)
class _Candidate:
    start: int
    end: int
    text: str
    kind: str


def suggest_corrections(
    model: Bert, tokenizer: Tokenizer, text: str, margin: float = MARGIN, progress: Callable = iter
) -> tuple[Correction, ...]:
    """Suggest changes of the spelling and spacing of a text, at most one for each word, in text order.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        text: the text.
        margin: the smallest gain in nats that is suggested.
        progress: wraps the sequence of the parts of the text, as `tqdm` does.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has no words.
    """
    model.require_head("mlm")
    parts = split_text(model, tokenizer, text)
    found: list[Correction] = []
    for part in progress(parts):
        found += _correct_part(model, tokenizer, part, margin)
    return tuple(sorted(found, key=lambda correction: correction.start))


def _correct_part(model: Bert, tokenizer: Tokenizer, part: TextPart, margin: float) -> list[Correction]:
    """Suggest changes of one part of a text."""
    if not part.words:
        return []
    (scored,) = score_parts(model, tokenizer, [[replace(part, start=0)]])
    suspects = [word for word in scored.words
                if word.surprise > MIN_SURPRISE and word.text.isalpha() and len(word.text) <= MAX_WORD]  # fmt: skip
    suspects = sorted(suspects, key=lambda word: -word.surprise)[:MAX_SUSPECTS]
    spans = [(word.start, word.end) for word in scored.words]
    groups = [_list_candidates(part.text, (word.start, word.end), spans) for word in suspects]
    ranked = _rank(model, tokenizer, part, [candidate for group in groups for candidate in group])
    tried: dict[_Candidate, None] = {}
    for group in groups:
        best = sorted((each for each in group if each in ranked), key=lambda each: -ranked[each])
        tried |= dict.fromkeys(best[:MAX_TRIED])
    chosen = sorted(tried, key=lambda each: -ranked[each])[:MAX_TRIED_IN_PART]
    texts = [part.text[: each.start] + each.text + part.text[each.end :] for each in chosen]
    edited = [[make_part(model, tokenizer, 0, text)] for text in texts]
    gains = [scored.total - each.total for each in score_parts(model, tokenizer, edited)]
    corrections: list[Correction] = []
    for each, gain in sorted(zip(chosen, gains, strict=True), key=lambda row: -row[1]):
        is_free = all(each.end <= other.start - part.start or other.end - part.start <= each.start
                      for other in corrections)  # fmt: skip
        if gain > margin and is_free:
            original = part.text[each.start : each.end]
            place = part.start + each.start, part.start + each.end
            corrections.append(Correction(*place, original, each.text, each.kind, gain))
    return corrections


def _list_candidates(text: str, span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> list[_Candidate]:
    """List the changes of a word: its letters, a space in it, and no space before or after it."""
    start, end = span
    word, number = text[start:end], spans.index(span)
    candidates = [_Candidate(start, end, edited, "letter") for edited, _ in list_edits(word)]
    candidates += [_Candidate(start, end, f"{word[:n]} {word[n:]}", "split") for n in range(1, len(word))]
    for first, second in zip(spans[max(number - 1, 0) : number + 1], spans[max(number, 1) : number + 2], strict=False):
        words = text[first[0] : first[1]], text[second[0] : second[1]]
        if text[first[1] : second[0]] == " " and all(map(str.isalpha, words)):
            candidates.append(_Candidate(first[0], second[1], "".join(words), "join"))
    return candidates


def _rank(
    model: Bert, tokenizer: Tokenizer, part: TextPart, candidates: Iterable[_Candidate]
) -> dict[_Candidate, float]:
    """Estimate how much better each candidate fits than what stands there, with all its tokens masked.

    Candidates with [UNK] or with more tokens than what stands there and one are left out.
    """
    candidates = list(dict.fromkeys(candidates))
    tokens = tokenizer.encode_ids([candidate.text for candidate in candidates])
    ids, offsets, mask = part.encoding.ids, part.encoding.offsets, tokenizer.mask_id
    queries: list[Query] = []
    places: dict[_Candidate, tuple[slice, slice]] = {}
    for candidate, new in zip(candidates, tokens, strict=True):
        inside = [n for n, (first, last) in enumerate(offsets)
                  if candidate.start <= first and last <= candidate.end and not part.encoding.special[n]]  # fmt: skip
        if not inside or not new or tokenizer.unk_id in new or len(new) > len(inside) + 1:
            continue
        before, old, after = ids[: inside[0]], ids[inside[0] : inside[-1] + 1], ids[inside[-1] + 1 :]
        ends = [len(queries)]
        for wanted in (new, old):
            masked = (*before, *[mask] * len(wanted), *after)
            queries += [Query(masked, inside[0] + number, id) for number, id in enumerate(wanted)]
            ends.append(len(queries))
        places[candidate] = slice(*ends[:2]), slice(*ends[1:])
    log_probs = compute_log_probs(model, tokenizer, queries)
    return {each: sum(log_probs[new]) - sum(log_probs[old]) for each, (new, old) in places.items()}
