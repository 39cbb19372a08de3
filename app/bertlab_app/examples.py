"""The example texts that the pages show at first, from `examples.toml` in the folder of each language."""

from dataclasses import dataclass
from functools import cache

from bertlab.config.languages import read_data

Pair = tuple[str, str]  # two texts


@dataclass(frozen=True)
class Examples:
    """The example texts of one language."""

    short: str  # a short sentence for the picture on the start page
    pair: Pair  # two sentences for the pages Input and Attention
    changed_second_sentence: str  # a variant of the second sentence of `pair`, for the comparison of two texts
    long_words: str  # a short text with long words, for the page WordPiece
    sentence: str  # a sentence for the page Fill mask
    masked_word: str  # the index of the word of `sentence` that is initially masked, counted from 0, as text
    masked_sentence: str  # a sentence with a [MASK]
    other_masked_sentence: str
    """Another sentence with a [MASK]. Its hidden states replace those of `masked_sentence` in activation patching."""
    review: str  # a review to classify
    surgery: dict[str, Pair]
    """{task type: (edited attention, patched hidden state)}: the initial interventions in the tools of the page Head
    surgery, in the syntax of `bertlab.abilities.surgery.syntax`. Each of the two changes the prediction."""
    similar_pair: Pair  # two sentences with nearly the same meaning, for checkpoints that compare sentences
    text_with_names: str  # a sentence with names of people, places or organisations
    passage: str  # a passage that contains the answers to `questions`
    questions: tuple[str, ...]  # questions about `passage`
    choice_context: str  # a sentence with several `choices`, for the page Choose
    choices: tuple[str, ...]  # endings of `choice_context`, or explanations of it, exactly one of which is right
    time_machine_pair: Pair  # a sentence pair with a [MASK], for the time machine
    next_sentence_pairs: dict[str, Pair]
    """Sentence pairs for next-sentence prediction. In "follow", the second sentence follows the first; in "other", it
    has a different topic; in "near", it has the same topic but does not follow."""
    headlines: tuple[str, ...]  # headlines on five topics, for the page Sentences
    draft: str  # a text with misspelt words and words that do not fit, for the page Writing
    draft_start: str  # the beginning of a sentence, with a gap in it, for type-ahead on the page Writing
    report: str  # a text of fifteen sentences, for the page Summary


@cache
def read_examples(code: str) -> Examples:
    """Read the examples of a language, or the English ones if the language has none."""
    texts = read_data("examples", code)
    return Examples(**{name: _convert_lists(value) for name, value in texts.items()})


def _convert_lists(value):
    if isinstance(value, dict):
        return {name: tuple(pair) for name, pair in value.items()}
    return tuple(value) if isinstance(value, list) else value
