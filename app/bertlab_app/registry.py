"""The registry of pages."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bertlab.tasks.registry import TASK_TYPES

APP = Path(__file__).parent  # the folder of the app
# sections of the menu; the pages of the section "" come first, without a heading
SECTIONS = ("", "learn", "inspect", "predict", "change", "train")


@dataclass(frozen=True)
class Page:
    """A page of the app."""

    name: str  # its name in the address, which is also the prefix of its messages, such as "fill-mask"
    icon: str  # its icon in the menu, such as ":material/home:"
    section: str  # its section of the menu, one of `SECTIONS`
    script: Path  # the Streamlit script that draws it
    uses_checkpoint: bool = True
    """Whether it uses the checkpoint that is selected in the sidebar. Other pages need no checkpoint, or have their own
    fields for checkpoints or runs, so the sidebar's field is disabled on them."""
    is_in_menu: bool = True  # whether the menu lists it. The start page lists every page.


PAGES: dict[str, Page] = {}  # name of a page -> the page, in the order of `register` calls


def register(name: str, icon: str, section: str, script: Path | None = None, **options: bool) -> Page:
    """Add a page at the end of its section; `options` are further fields of `Page`."""
    if name in PAGES:
        raise ValueError(f"there is already a page {name!r}")
    if section not in SECTIONS:
        raise ValueError(f"{section!r} is not one of {SECTIONS}")
    script = script or APP / "pages" / f"{name.replace('-', '_')}.py"
    PAGES[name] = Page(name, icon, section, script, **options)
    return PAGES[name]


def list_pages(section: str) -> list[Page]:
    """List the pages of a section in the order of the menu.

    >>> [page.name for page in list_pages("inspect")]
    ['input', 'attention']
    """
    return [page for page in PAGES.values() if page.section == section]


register("start", ":material/home:", "")
register("lessons", ":material/school:", "learn", uses_checkpoint=False)
register("pretraining", ":material/casino:", "learn")
register("wordpiece", ":material/extension:", "learn")
register("paper", ":material/article:", "learn", uses_checkpoint=False)
register("cost", ":material/payments:", "learn", uses_checkpoint=False)
register("serving", ":material/speed:", "learn", uses_checkpoint=False)
register("input", ":material/text_fields:", "inspect")
register("attention", ":material/hub:", "inspect")
register("fill-mask", ":material/visibility_off:", "predict")
register("writing", ":material/edit_note:", "predict")
register("next-sentence", ":material/compare_arrows:", "predict")
register("answer", ":material/help:", "predict")
register("classify", ":material/label:", "predict")
register("choose", ":material/checklist:", "predict")
register("tag", ":material/sell:", "predict")
register("sentences", ":material/scatter_plot:", "predict")
register("summary", ":material/short_text:", "predict")
register("heads", ":material/content_cut:", "change")
register("logit-lens", ":material/layers:", "change")
register("xray", ":material/radiology:", "change")
register("compare", ":material/difference:", "change", uses_checkpoint=False)
register("training", ":material/show_chart:", "train", uses_checkpoint=False)
register("time-machine", ":material/history:", "train", uses_checkpoint=False)
register("guess", ":material/group_work:", "train", uses_checkpoint=False, is_in_menu=False)
register("train-live", ":material/bolt:", "train", uses_checkpoint=False, is_in_menu=False)
register("evaluation", ":material/fact_check:", "train")


def menu() -> dict[str, list[Page]]:
    """Return {section: its pages} in the order of the menu, without sections that have no pages."""
    return {section: pages for section in SECTIONS if (pages := list_pages(section))}


def find_page(heads: Collection[str]) -> Page:
    """Find a page that shows a prediction of a checkpoint with these output layers.

    If there are several, return the page of the task type that comes first in `TASK_TYPES`. If there is none, return
    the page "attention", which needs no output layer.

    Args:
        heads: the names of the output layers of a checkpoint, as in `Session.heads`.

    >>> find_page(("mlm", "nsp")).name, find_page(()).name
    ('fill-mask', 'attention')
    """
    names = (task_type.page for task_type in TASK_TYPES.values() if task_type.page and task_type.head in heads)
    return PAGES[next(names, "attention")]
