"""The text changes that `bertlab bench app` makes on the pages of the app."""

from dataclasses import dataclass, field

TIMEOUT_SECONDS = 30  # a result that takes longer counts as an error

# the words that replace {word} in the texts
WORDS = [
    "river", "garden", "bridge", "castle", "window", "island", "forest", "market", "engine", "bottle", "letter",
    "mirror", "basket", "hammer", "ladder", "candle", "pocket", "saddle", "tunnel", "valley", "wagon", "carpet",
    "bucket", "needle", "barrel", "feather", "pillow", "shovel", "lantern", "anchor", "blanket", "kettle", "ribbon",
    "trumpet", "violin", "orchard", "harbor", "meadow", "cottage", "temple", "palace", "museum", "library", "station",
    "factory", "kitchen",
]  # fmt: skip
# the long input for which the attention view is measured
LONG_TEXT = (
    "The {word} was the last thing the old man had kept from the farm where he was born, and every evening he carried "
    "it to the door and looked at it for a while before he began to cook. His neighbours knew the story well, because "
    "he had told it so often: how his mother had found it in the snow, how his brother had wanted to sell it for two "
    "horses, and how, in the year of the great storm, it was the only thing that the water did not take. Nobody "
    "believed all of it, but everybody liked to listen, and the children always asked him to tell the end of it twice."
)


@dataclass(frozen=True)
class TextChange:
    """A new text for one field of a page, and how to detect that its result is drawn."""

    page: str  # the name of the page in its address, "" for the start page
    field_key: str
    text: str  # {word} or {number} is replaced by another one each time, because an earlier text would be in a cache
    result_selector: str = ""
    """The CSS selector of the element that is drawn last; "" if a canvas draws the result, which is then complete when
    the canvas has drawn the {word}."""
    parameters: dict[str, str] = field(default_factory=dict)  # of the address
    is_multiline: bool = False  # then Ctrl+Enter sends the text, otherwise Enter


# the texts of several changes below
SENTENCE = "The old {word} stood beside the road."
MASKED_SENTENCE = "The girl put the {word} into the [MASK] before dawn."
TIMED_CHANGES = {
    "fill_mask": TextChange(
        "fill-mask", "text", "She put the {word} on the [MASK] and closed the door.", ".st-key-mask-0 .main-svg"
    ),
    "next_sentence": TextChange(
        "next-sentence", "second", "Nobody had seen the {word} before.", ".st-key-gauge .main-svg"
    ),
    "attention_short": TextChange("attention", "a", SENTENCE, "", {"b": ""}),
    "attention_long": TextChange("attention", "a", LONG_TEXT, "", {"b": ""}),
    "answer": TextChange(
        "answer", "question", "When did the keeper of the {word} leave?", ".st-key-curves .main-svg"
    ),
    "start": TextChange("", "text", "She put the {word} on the [MASK].", ".st-key-mask-0 .main-svg"),
    "pretraining": TextChange(
        "pretraining", "draw", "{number}", ".st-key-candidates .main-svg"
    ),
    "wordpiece": TextChange("wordpiece", "words", "an unbelievable {word}", ".st-key-figure-search .stHtml"),
    "cost": TextChange("cost", "cost-tokens", "{number}", ".st-key-flop .main-svg"),
    "input": TextChange("input", "a", SENTENCE, ".st-key-embeddings .main-svg", {"b": ""}),
    "attention_head": TextChange("attention", "a", SENTENCE, "", {"b": "", "look": "neuron"}),
    "rollout": TextChange("attention", "a", SENTENCE, ".st-key-rollout .main-svg", {"b": "", "look": "rollout"}),
    "fill_mask_pair": TextChange(
        "fill-mask", "text2", "The {word} was cold.", ".st-key-mask-0 .main-svg", {"text": "She opened the [MASK]."}
    ),
    "next_sentence_candidates": TextChange(
        "next-sentence", "b1", "Nobody had seen the {word}.", ".st-key-candidates .main-svg", {"nsp": "candidates"}
    ),
    "classify": TextChange("classify", "judged", "A {word} that I would see again.", ".st-key-words-effects .main-svg"),
    "choose": TextChange("choose", "ending1", "The {word} is hot and would melt.", ".st-key-choice-products .main-svg"),
    "tag": TextChange("tag", "named", "The {word} in Lyon was opened by Anna Keller.", ".st-key-tags .main-svg"),
    "summary": TextChange(
        "summary", "document", f"{LONG_TEXT} A new {{word}} stands there now.", ".st-key-centrality .main-svg",
        is_multiline=True,
    ),
    "writing": TextChange(
        "writing", "draft", "The old man put the {word} on the elephant and looked out of the windw.",
        ".st-key-surprise .main-svg", is_multiline=True,
    ),
    "type_ahead": TextChange(
        "writing", "begin", "The old {word} opened the ___ and went into the", ".st-key-next .main-svg", {"aid": "next"}
    ),
    "heads": TextChange("heads", "masked", MASKED_SENTENCE, ".st-key-before-after .main-svg"),
    "logit-lens": TextChange("logit-lens", "masked", MASKED_SENTENCE, ".st-key-rank .main-svg"),
    "xray": TextChange("xray", "question", "When did the {word} burn?", ".st-key-heads .main-svg"),
    "compare": TextChange(
        "compare", "b2", "The {word} is not level.", ".st-key-moved-most .main-svg", {"between": "inputs"}
    ),
}  # fmt: skip
"""Name -> a change whose response time is measured: at least one for each page that answers what the user types, except
the time machine, which computes the answers of many checkpoints."""

LAYOUT_SHIFT_CHANGES = [
    TIMED_CHANGES[name]
    for name in (
        "input", "attention_short", "fill_mask", "next_sentence", "answer", "heads", "logit-lens", "xray", "compare",
        "classify", "tag",
    )
]  # fmt: skip
"""One change for each page whose layout shift is measured."""
