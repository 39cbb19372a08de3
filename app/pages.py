"""The pages of the window, by section, each with its icon. A new page is a row here, a file in `screens/` and one in
`i18n/strings/`. Knows no page from inside."""

SECTIONS = {
    "home": {"start": ":material/home:"},
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


def script(page: str) -> str:
    """The file of a page, from `app/`.

    >>> script("fill-mask")
    'screens/fill_mask.py'
    """
    return f"screens/{page.replace('-', '_')}.py"
