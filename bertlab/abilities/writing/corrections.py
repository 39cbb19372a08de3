"""Suggestions for spelling and spacing: single changes of a suspicious word that make the whole text more probable.

A candidate is a word that differs by one letter (`text.letter_edits`), a word split in two, or two words joined. The
candidates of a suspicious word are compared in three rounds, each slower and more exact than the one before:

1. All tokens of the word are masked, so candidates with equally many tokens share one input.
2. The best candidates are scored token by token from left to right, in the way that the surprise of a word is computed.
3. The best of these are put into the text. The gain of a candidate is how far the pseudo-log-likelihood of the text
   then rises. A candidate is suggested only if its gain exceeds a margin.

No list of words is used, so a similar frequent word may be suggested for a correct but rare one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bertlab.abilities.writing.masked_inputs import TokenQuery, compute_log_probs
from bertlab.abilities.writing.surprise import TextPart, make_part, score_parts, split_text
from bertlab.nn.bert import Bert
from bertlab.text.letter_edits import list_edits
from bertlab.text.tokenizers.wordpiece import Tokenizer

MARGIN = 12.0  # nats; `bertlab bench writing` tunes it
MAX_SUSPECTS = 4  # number of words of a part that are examined, the most surprising ones
MIN_SURPRISE = 4.0  # nats; less surprising words are never examined
MAX_WORD = 20  # characters; longer words have too many edits
# Candidates of a word in the second round. Each kind has its own limit, because the estimates of the first round are
# poor for splits, and cannot be compared with those of the other kinds.
MAX_COMPARED = {"letter": 10, "split": 4, "join": 2}
MAX_TRIED = 3  # the maximum number of candidates of a word in the third round
MAX_TRIED_IN_PART = 8  # the maximum number of candidates of all words of a part in the third round


@dataclass(frozen=True)
class Correction:
    """A suggested change of a text."""

    start: int
    """The index of the first character that is replaced."""
    end: int
    """The index after the last character that is replaced."""
    original: str
    """The text that is replaced."""
    replacement: str
    """The suggested text."""
    kind: str
    """"letter" (one letter differs), "split" (a space is inserted) or "join" (a space is removed)."""
    gain: float
    """How far the pseudo-log-likelihood of the text rises, in nats."""


@dataclass(frozen=True)
class _Candidate:
    """A possible change of a part of a text: the characters from `start` to `end` of the part become `text`."""

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
        margin: a change is suggested only if its gain in nats is larger.
        progress: wraps the sequence of the parts of the text, as `tqdm` does.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has no words.
    """
    model.require_head("mlm")
    parts = split_text(model, tokenizer, text)
    corrections: list[Correction] = []
    for part in progress(parts):
        corrections += _correct_part(model, tokenizer, part, margin)
    return tuple(sorted(corrections, key=lambda correction: correction.start))


def _correct_part(model: Bert, tokenizer: Tokenizer, part: TextPart, margin: float) -> list[Correction]:
    """Suggest changes of one part of a text."""
    if not part.words:
        return []
    # with start=0, the characters of the words are counted from the beginning of the part, not of the text
    (part_surprise,) = score_parts(model, tokenizer, [[replace(part, start=0)]])
    suspects = [word for word in part_surprise.words
                if word.surprise > MIN_SURPRISE and word.text.isalpha() and len(word.text) <= MAX_WORD]  # fmt: skip
    suspects = sorted(suspects, key=lambda word: -word.surprise)[:MAX_SUSPECTS]
    spans = [(word.start, word.end) for word in part_surprise.words]
    groups = [_list_candidates(part.text, (word.start, word.end), spans) for word in suspects]
    edits = _find_token_edits(tokenizer, part, [candidate for group in groups for candidate in group])
    estimates = _estimate_gains(model, tokenizer, part, edits, _mask_all)  # round 1
    compared_groups: list[list[_Candidate]] = []
    for group in groups:
        best = sorted((each for each in group if each in estimates), key=lambda each: -estimates[each])
        by_kind = {kind: [each for each in best if each.kind == kind][:count] for kind, count in MAX_COMPARED.items()}
        compared_groups.append([each for candidates in by_kind.values() for each in candidates])
    edits = {each: edits[each] for group in compared_groups for each in group}
    estimates = _estimate_gains(model, tokenizer, part, edits, _mask_later)  # round 2
    best_of_word = [
        each for group in compared_groups for each in sorted(group, key=lambda each: -estimates[each])[:MAX_TRIED]
    ]
    chosen = sorted(dict.fromkeys(best_of_word), key=lambda each: -estimates[each])[:MAX_TRIED_IN_PART]
    texts = [part.text[: each.start] + each.text + part.text[each.end :] for each in chosen]
    edited_parts = [[make_part(model, tokenizer, 0, text)] for text in texts]
    # round 3; `total` is the surprise of the text, that is, minus its pseudo-log-likelihood
    gains = [part_surprise.total - each.total for each in score_parts(model, tokenizer, edited_parts)]
    corrections: list[Correction] = []
    for each, gain in sorted(zip(chosen, gains, strict=True), key=lambda row: -row[1]):
        overlaps_no_other = all(each.end <= other.start - part.start or other.end - part.start <= each.start
                                for other in corrections)  # fmt: skip
        if gain > margin and overlaps_no_other:
            replaced = part.text[each.start : each.end]
            span = part.start + each.start, part.start + each.end
            corrections.append(Correction(*span, replaced, each.text, each.kind, gain))
    return corrections


def _list_candidates(text: str, span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> list[_Candidate]:
    """List the candidates for a word: with one letter changed, split in two, or joined with the word before or after
    it."""
    start, end = span
    word, index = text[start:end], spans.index(span)
    candidates = [_Candidate(start, end, edited, "letter") for edited, _ in list_edits(word)]
    candidates += [_Candidate(start, end, f"{word[:n]} {word[n:]}", "split") for n in range(1, len(word))]
    for first, second in zip(spans[max(index - 1, 0) : index + 1], spans[max(index, 1) : index + 2], strict=False):
        words = text[first[0] : first[1]], text[second[0] : second[1]]
        if text[first[1] : second[0]] == " " and all(map(str.isalpha, words)):
            candidates.append(_Candidate(first[0], second[1], "".join(words), "join"))
    return candidates


def _find_token_edits(
    tokenizer: Tokenizer, part: TextPart, candidates: Iterable[_Candidate]
) -> dict[_Candidate, tuple[int, int, tuple[int, ...]]]:
    """Find for each candidate the first and the end position of the tokens that it replaces, and its own token ids.

    A candidate is left out if it contains [UNK], or has at least two tokens more than the text that it replaces.
    """
    candidates = list(dict.fromkeys(candidates))
    edits = {}
    for candidate, ids in zip(candidates, tokenizer.encode_ids([each.text for each in candidates]), strict=True):
        replaced = [n for n, (first, last) in enumerate(part.encoding.offsets)
                    if candidate.start <= first and last <= candidate.end and not part.encoding.special[n]]  # fmt: skip
        if replaced and ids and tokenizer.unk_id not in ids and len(ids) <= len(replaced) + 1:
            edits[candidate] = replaced[0], replaced[-1] + 1, tuple(ids)
    return edits


def _estimate_gains(
    model: Bert, tokenizer: Tokenizer, part: TextPart, edits: dict[_Candidate, tuple], mask: Callable
) -> dict[_Candidate, float]:
    """Estimate the gain of each candidate in nats: how much more probable its tokens are than those that it replaces.

    Args:
        model: the model.
        tokenizer: its tokenizer.
        part: the part of the text.
        edits: the result of `_find_token_edits`.
        mask: the function that masks the tokens of a candidate, `_mask_all` or `_mask_later`.
    """
    # candidate -> two slices of `queries`: the queries for its own tokens, and those for the tokens that it replaces
    ids, queries, slices = part.encoding.ids, [], {}
    for candidate, (first, end, new) in edits.items():
        edges = [len(queries)]
        for token_ids in (new, ids[first:end]):
            for index, id in enumerate(token_ids):
                masked_ids = mask(tokenizer, token_ids, index)
                queries.append(TokenQuery((*ids[:first], *masked_ids, *ids[end:]), first + index, id))
            edges.append(len(queries))
        slices[candidate] = slice(*edges[:2]), slice(*edges[1:])
    log_probs = compute_log_probs(model, tokenizer, queries)
    return {each: sum(log_probs[new]) - sum(log_probs[old]) for each, (new, old) in slices.items()}


def _mask_all(tokenizer: Tokenizer, ids: Sequence[int], index: int) -> list[int]:
    """Mask all tokens, so that all candidates with equally many tokens share one input; `index` is not used."""
    return [tokenizer.mask_id] * len(ids)


def _mask_later(tokenizer: Tokenizer, ids: Sequence[int], index: int) -> list[int]:
    """Mask the token with this index and the later ones of its word, as in `surprise.compute_surprise`."""
    end = index + 1
    while end < len(ids) and tokenizer.continues_word(ids[end]):
        end += 1
    return [*ids[:index], *[tokenizer.mask_id] * (end - index), *ids[end:]]
