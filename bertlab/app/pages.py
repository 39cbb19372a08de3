"""The pages of the window, by section, each with its icon; the first stands above all sections. A new page is a row
here, a file in `screens/` and its texts in `bertlab/locales/*/app/`. Knows no page from inside."""

from collections.abc import Collection

SECTIONS = {
    "": {"start": ":material/home:"},
    "see": {"input": ":material/text_fields:", "attention": ":material/hub:"},
    "ask": {
        "fill-mask": ":material/visibility_off:",
        "next-sentence": ":material/compare_arrows:",
        "question": ":material/help:",
        "classify": ":material/label:",
        "tag": ":material/sell:",
    },
    "change": {
        "heads": ":material/content_cut:",
        "depth": ":material/layers:",
        "xray": ":material/radiology:",
        "compare": ":material/difference:",
    },
    "learn": {
        "training": ":material/show_chart:",
        "time-machine": ":material/history:",
        "evaluation": ":material/fact_check:",
    },
}

# these choose what they open themselves
OWN_CHOICE = {"compare", "training", "time-machine"}

# what a checkpoint has output layers for -> the page that asks it, the first that fits
ASKS = {
    "mlm": "fill-mask", "span": "question", "classify": "classify", "regress": "classify", "tag": "tag",
    "nsp": "next-sentence",
}  # fmt: skip


def answering(heads: Collection[str]) -> str:
    """The first page that a checkpoint with these output layers can answer; every one can show its attention.

    >>> answering(("mlm", "nsp")), answering(())
    ('fill-mask', 'attention')
    """
    return next((page for head, page in ASKS.items() if head in heads), "attention")


def script(page: str) -> str:
    """The file of a page, from `app/`.

    >>> script("fill-mask")
    'screens/fill_mask.py'
    """
    return f"screens/{page.replace('-', '_')}.py"
