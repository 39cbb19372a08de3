"""`bertlab reproduce`: a table of the paper as one command, its result as text, JSON and a figure.

Knows nothing of how a cell is trained.
"""

import json

from tqdm import tqdm

from bertlab.config.files import write_atomically
from bertlab.training.paper.reproduce import ReproduceConfig, reproduce, result
from bertlab.views import ablation

__all__ = ["ReproduceConfig", "run"]


def run(config: ReproduceConfig) -> None:
    """Do what is left of the table behind a progress bar; print it, and write it to --out as JSON, Markdown, HTML."""
    bar = None
    try:
        for moment in reproduce(config):
            if bar is None:
                form = "{percentage:5.1f}%|{bar}| {elapsed}<{remaining} {desc}"
                bar = tqdm(total=moment.total, bar_format=form, initial=int(moment.done))
            bar.set_description_str(
                f"{moment.cell.row}, {moment.cell.column}, seed {moment.cell.seed}: {moment.doing}", refresh=False
            )
            bar.update(max(0.0, moment.done - bar.n))
    finally:
        if bar is not None:
            bar.close()
    told = result(config)
    lines = ablation.markdown(told)
    page = ablation.figure(told).to_html(include_plotlyjs=True)
    texts = {".json": json.dumps(told, indent=2, ensure_ascii=False), ".md": "\n".join(lines), ".html": page}
    for ending, text in texts.items():
        write_atomically(config.out / f"{config.table}{ending}", text + "\n")
    print(json.dumps(told) if config.json else "\n".join(lines))
    if not config.json:
        print(f"\n{config.out / config.table}.json, .md and .html")
