"""`bertlab writing`: find words that do not fit, suggest corrections, and predict the next word."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from bertlab.cli.query import QueryOptions, Text, open_session, print_result, read_texts


@dataclass(frozen=True)
class Writing(QueryOptions):
    """Find the words of a text that do not fit, suggest corrections, and predict the next word.

    BERT masks the tokens of the text one at a time and predicts each token from the others. The surprise of a token
    with the predicted probability p is -ln p, and that of a word is the sum over its tokens; the sum over the text,
    with the sign changed, is the pseudo-log-likelihood of the text. A word whose surprise exceeds --threshold is
    listed, together with words that fit better. These suggestions are single tokens of the vocabulary. A listed word is
    surprising, but not necessarily wrong.

    With --spelling, the most surprising words are changed by one letter (in Korean, a letter of a syllable) or one
    space. A change is suggested if the pseudo-log-likelihood of the text rises by more than --margin. No dictionary is
    used. `bertlab bench writing` measures precision and recall on text with artificial errors.

    Examples:
      bertlab writing "The old man put the glass on the elephant."
      bertlab writing "소년은 식탁 위에 코끼리를 놓았다." --threshold 12
      bertlab writing "He opend the door of thehouse." --spelling
      bertlab writing "The old ___ opened the door and went into the" --json
      bertlab writing - < letter.txt
    """

    text: Text
    """The text, of any length; ___ or [MASK] is a gap to fill. Use "-" to read it from standard input."""
    threshold: Annotated[float | None, tyro.conf.arg(metavar="NATS")] = None
    """List words with a surprise above this value. Default: 9 nats for English, and 16 for Korean, whose words have
    more tokens."""
    top_k: int = 5
    """Number of words to suggest for each listed word, for each gap and as the next word."""
    mask_rest_of_word: Annotated[bool, tyro.conf.arg(aliases=("--whole-words",))] = True
    """Mask the tokens that follow a predicted token in the same word. They are masked by default, because they would
    give the predicted token away."""
    spelling: bool = False
    """Suggest changes of spelling and spacing too, which takes longer."""
    margin: float = 12.0
    """With --spelling: the gain in nats that a change has to exceed. With a larger margin, there are fewer suggestions,
    and a larger share of them is right."""


def writing(config: Writing) -> None:
    """Print the surprising words, the suggestions and the next words."""
    from bertlab.abilities.writing import lines as terminal_writing
    from bertlab.config.languages import languages

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    threshold = languages()[session.language].surprise_threshold if config.threshold is None else config.threshold
    surprise = session.surprise(text, "word" if config.mask_rest_of_word else "token", progress=_show_progress)
    suggestions = session.propose_words(text, surprise.find_misfits(threshold), config.top_k)
    type_ahead = session.type_ahead(text, config.top_k)
    corrections = session.suggest_corrections(text, config.margin) if config.spelling else None
    text_values = {name: getattr(surprise, name) for name in ("num_tokens", "total", "mean", "pseudo_perplexity")}
    result = {
        "threshold": threshold,
        **text_values,
        "surprise": surprise,
        "misfits": suggestions,
        "type_ahead": type_ahead,
    }
    result |= {} if corrections is None else {"corrections": corrections}
    make_lines = terminal_writing.writing_lines
    print_result(config, session, result, lambda: make_lines(surprise, suggestions, threshold, type_ahead, corrections))


def _show_progress(batches):
    """Show a progress bar while batches of inputs are computed, if that takes more than a second."""
    from tqdm import tqdm

    return tqdm(batches, desc="inputs", leave=False, disable=None, delay=1.0)
