"""The pages that `bertlab bench app` measures: what is changed on them, and what shows that the answer is there."""

from dataclasses import dataclass, field

PATIENCE = 30  # seconds after which an answer counts as an error

WORDS = [
    "river", "garden", "bridge", "castle", "window", "island", "forest", "market", "engine", "bottle", "letter",
    "mirror", "basket", "hammer", "ladder", "candle", "pocket", "saddle", "tunnel", "valley", "wagon", "carpet",
    "bucket", "needle", "barrel", "feather", "pillow", "shovel", "lantern", "anchor", "blanket", "kettle", "ribbon",
    "trumpet", "violin", "orchard", "harbor", "meadow", "cottage", "temple", "palace", "museum", "library", "station",
    "factory", "kitchen",
]  # fmt: skip
LONG = (
    "The {word} was the last thing the old man had kept from the farm where he was born, and every evening he carried "
    "it to the door and looked at it for a while before he began to cook. His neighbours knew the story well, because "
    "he had told it so often: how his mother had found it in the snow, how his brother had wanted to sell it for two "
    "horses, and how, in the year of the great storm, it was the only thing that the water did not take. Nobody "
    "believed all of it, but everybody liked to listen, and the children always asked him to tell the end of it twice."
)


@dataclass(frozen=True)
class Case:
    """A page whose text is changed."""

    page: str
    """Its address."""
    key: str
    """The key of the field."""
    text: str
    """A new text, with {word} in it."""
    picture: str = ""
    """A CSS selector of what is drawn last; "" for a canvas, which must write the word."""
    parameters: dict[str, str] = field(default_factory=dict)
    """More parameters of its address."""


CASES = {
    "fill_mask": Case(
        "fill-mask", "text", "She put the {word} on the table and closed the door.", ".st-key-mask-0 .main-svg",
        {"mask": "6"},
    ),
    "next_sentence": Case("next-sentence", "second", "Nobody had seen the {word} before.", ".st-key-gauge .main-svg"),
    "attention_short": Case("attention", "a", "The old {word} stood beside the road.", "", {"b": ""}),
    "attention_long": Case("attention", "a", LONG, "", {"b": ""}),
    "question": Case("question", "question", "When did the keeper of the {word} leave?", ".st-key-curves .main-svg"),
}  # fmt: skip

# The field that is changed, its page and parameters, and another text of the same kind.
MOVING = {
    "input": ("a", {}, "The girl put the small stone into the river."),
    "attention": ("a", {}, "The girl put the small stone into the river."),
    "fill-mask": ("text", {}, "The girl put the [MASK] stone into the river."),
    "next-sentence": ("second", {}, "Nobody had seen the bridge before that winter."),
    "question": ("question", {}, "When did the keeper of the bridge leave?"),
    "heads": ("masked", {}, "The girl put the small [MASK] into the river before dawn."),
    "depth": ("masked", {}, "The girl put the small [MASK] into the river before dawn."),
    "xray": ("question", {}, "When did the keeper of the bridge leave?"),
    "compare": ("b2", {"between": "inputs"}, "The girl put the small stone into the lake."),
    "classify": ("judged", {}, "A film that is far too long, and still I would see it again."),
    "tag": ("named", {}, "The museum in Lyon was opened by Anna Keller in the spring."),
}  # fmt: skip
