"""`bertlab reproduce`: reproduce a table of the paper, and write it as text, JSON and a figure."""

import json

from tqdm import tqdm

from bertlab.abilities.surgery import ablation_figures as ablation
from bertlab.config.files import write_atomically
from bertlab.training.paper.benchmarks import BENCHMARK_TABLES
from bertlab.training.paper.config import ReproduceConfig
from bertlab.training.paper.reproduce import read_benchmark, read_table, reproduce
from bertlab.views import benchmarks

__all__ = ["ReproduceConfig", "run"]

# the progress bar: the part that is done, the time, and what is computed
BAR_FORMAT = "{percentage:5.1f}%|{bar}| {elapsed}<{remaining} {desc}"


def run(config: ReproduceConfig) -> None:
    """Compute the missing cells of the table, show the progress, print the table, and write it in three formats."""
    bar = None
    try:
        for progress in reproduce(config):
            if bar is None:
                bar = tqdm(total=progress.total, bar_format=BAR_FORMAT, initial=int(progress.done))
            cell = progress.cell
            bar.set_description_str(f"{cell.row}, {cell.column}, seed {cell.seed}: {progress.activity}", refresh=False)
            bar.update(max(0.0, progress.done - bar.n))
    finally:
        if bar is not None:
            bar.close()
    is_benchmark = config.table in BENCHMARK_TABLES
    table, view = (read_benchmark(config), benchmarks) if is_benchmark else (read_table(config), ablation)
    lines = view.markdown(table)
    page = view.figure(table).to_html(include_plotlyjs=True)
    files = {".json": json.dumps(table, indent=2, ensure_ascii=False), ".md": "\n".join(lines), ".html": page}
    for suffix, text in files.items():
        write_atomically(config.out / f"{config.table}{suffix}", text + "\n")
    print(json.dumps(table) if config.json else "\n".join(lines))
    if not config.json:
        print(f"\n{config.out / config.table}.json, .md and .html")
