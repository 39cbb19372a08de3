"""The registry of pages, by section of the menu.

A page is a row here, a script in `screens/` and its texts in `bertlab/locales/*/app/`: `NAME` (its title in the menu),
`NAME-title` and `NAME-lead` (above the page), `start-NAME` (on the start page). `register` adds one from outside the
package.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bertlab.tasks.registry import TASK_TYPES

APP = Path(__file__).parent
SECTIONS = ("", "see", "ask", "change", "learn")  # sections of the menu; "" stands above all others


@dataclass(frozen=True)
class Page:
    """A page of the app."""

    name: str
    """Its name in the address and the prefix of its texts, such as "fill-mask"."""
    icon: str
    """Its icon in the menu, such as ":material/home:"."""
    section: str
    """Its section of the menu, one of `SECTIONS`."""
    script: Path
    """The Streamlit script that draws it."""
    uses_checkpoint: bool = True
    """Whether it reads the checkpoint of the sidebar; other pages have choices of their own."""


PAGES: dict[str, Page] = {}


def register(name: str, icon: str, section: str, script: Path | None = None, *, uses_checkpoint: bool = True) -> Page:
    """Add a page at the end of its section.

    Args:
        name: its name in the address and the prefix of its texts.
        icon: its icon in the menu.
        section: one of `SECTIONS`.
        script: the Streamlit script that draws it; `screens/NAME.py` where none is given.
        uses_checkpoint: whether it reads the checkpoint of the sidebar.

    Raises:
        ValueError: the name is taken, or there is no such section.
    """
    if name in PAGES:
        raise ValueError(f"there is already a page {name!r}")
    if section not in SECTIONS:
        raise ValueError(f"{section!r} is not one of {SECTIONS}")
    script = script or APP / "screens" / f"{name.replace('-', '_')}.py"
    PAGES[name] = Page(name, icon, section, script, uses_checkpoint)
    return PAGES[name]


def in_section(section: str) -> list[Page]:
    """The pages of a section in the order of the menu.

    >>> [page.name for page in in_section("see")]
    ['input', 'attention']
    """
    return [page for page in PAGES.values() if page.section == section]


register("start", ":material/home:", "")
register("input", ":material/text_fields:", "see")
register("attention", ":material/hub:", "see")
register("fill-mask", ":material/visibility_off:", "ask")
register("next-sentence", ":material/compare_arrows:", "ask")
register("question", ":material/help:", "ask")
register("classify", ":material/label:", "ask")
register("tag", ":material/sell:", "ask")
register("heads", ":material/content_cut:", "change")
register("depth", ":material/layers:", "change")
register("xray", ":material/radiology:", "change")
register("compare", ":material/difference:", "change", uses_checkpoint=False)
register("training", ":material/show_chart:", "learn", uses_checkpoint=False)
register("time-machine", ":material/history:", "learn", uses_checkpoint=False)
register("evaluation", ":material/fact_check:", "learn")


def page_for(heads: Collection[str]) -> Page:
    """The first page that can show a prediction of a checkpoint with these task heads; attention needs none.

    >>> page_for(("mlm", "nsp")).name, page_for(()).name
    ('fill-mask', 'attention')
    """
    fitting = (task_type.page for task_type in TASK_TYPES.values() if task_type.page and task_type.head in heads)
    return PAGES[next(fitting, "attention")]
