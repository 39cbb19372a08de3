"""Hyperparameter search: fine-tune with several seeds, learning rates, batch sizes and numbers of epochs.

Each finished run is recorded in a line of `grid.jsonl`, so that an interrupted search can be resumed.

Source: Devlin et al. 2019, appendix A.3.
"""

import itertools
import json
import shutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace

from bertlab.checkpoints.directory import replace_directory
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.text_table import format_table
from bertlab.tasks.training_data import TrainingData
from bertlab.training import distributed
from bertlab.training.devices import resolve_device
from bertlab.training.run_directory import CHECKPOINT, STATE, claim_run

RESULTS = "grid.jsonl"  # the file with one line for each finished run
# With the option --grid, every combination of these values is tried, as in the paper.
PAPER_LEARNING_RATES, PAPER_BATCH_SIZES, PAPER_EPOCHS = (5e-5, 3e-5, 2e-5), (16, 32), (2.0, 3.0, 4.0)


def list_combinations(config) -> list[dict]:
    """List all combinations of learning rate, batch size and epochs; without a grid, there is only one."""
    learning_rates = config.grid_rates or (PAPER_LEARNING_RATES if config.grid else (config.optim.lr,))
    batch_sizes = config.grid_batches or (PAPER_BATCH_SIZES if config.grid else (config.batch_size,))
    epoch_counts = config.grid_epochs or (PAPER_EPOCHS if config.grid else (config.epochs,))
    return [
        {"lr": learning_rate, "batch_size": batch_size, "epochs": epochs}
        for learning_rate, batch_size, epochs in itertools.product(learning_rates, batch_sizes, epoch_counts)
    ]


def list_runs(config) -> Iterator[tuple[dict, object]]:
    """Yield ({combination and seed}, configuration) of every run; all runs with the first seed come first."""
    for seed in range(config.seed, config.seed + config.seeds):
        for combination in list_combinations(config):
            lr, batch_size, epochs = combination.values()
            epochs_part = "" if epochs is None else f"-epochs{epochs:g}"
            yield (
                combination | {"seed": seed},
                replace(
                    config,
                    out=config.out / "runs" / f"lr{lr:g}-batch{batch_size}{epochs_part}-seed{seed}",
                    seed=seed,
                    batch_size=batch_size,
                    epochs=epochs,
                    optim=replace(config.optim, lr=lr),
                    seeds=1,
                    grid=False,
                    grid_rates=(),
                    grid_batches=(),
                    grid_epochs=(),
                ),
            )


def search(
    config, data: TrainingData, results: list[dict], train: Callable[[object, TrainingData], Iterator]
) -> Iterator[tuple[int, int, object, Iterator]]:
    """Do the runs that are not finished yet, one after the other; the caller holds the lock of the directory.

    The checkpoint of the best run becomes `config.out`/checkpoint; those of the other runs are deleted.

    Args:
        results: an empty list, which receives a dictionary for each finished run: "setting" is its combination and
            seed, "figures" its metrics, and "minutes" its training time.
        train: makes the iterator that trains with a configuration.

    Yields:
        The index of the run (from 1), how many runs there are, the configuration of the run, and the iterator, which
        must be read to its end before the next run is requested.
    """
    if distributed.world_size() > 1:
        raise BertlabError("search-under-torchrun")
    if data.measure is None:
        raise BertlabError("search-without-held-out-rows")
    metric, results_path = data.spec.metrics[0], config.out / RESULTS
    claim_run(config, resolve_device(config.device), data.fingerprint)
    if results_path.is_file():
        results += map(json.loads, results_path.read_text().splitlines())
    if any(metric not in result["figures"] for result in results):
        raise BertlabError("search-other-metric", directory=config.out, metric=metric)
    all_runs = list(list_runs(config))
    for index, (setting, run_config) in enumerate(all_runs, 1):
        if any(result["setting"] == setting for result in results):
            continue
        yield index, len(all_runs), run_config, train(run_config, data)
        checkpoint = run_config.out / CHECKPOINT
        record = json.loads((checkpoint / "bertlab.json").read_text())
        result = {"setting": setting, "figures": record["validation"], "minutes": record["training_minutes"]}
        if all(result["figures"][metric] > other["figures"][metric] for other in results):
            with replace_directory(config.out / CHECKPOINT, obsolete_files=()) as copy:
                shutil.copytree(checkpoint, copy, dirs_exist_ok=True)
        results.append(result)
        write_atomically(results_path, "".join(json.dumps(result) + "\n" for result in results))
        (run_config.out / STATE).unlink(missing_ok=True)
        shutil.rmtree(checkpoint, ignore_errors=True)


def format_results(results: list[dict], metric: str) -> list[str]:
    """Format results as a table with one line for each combination, the best mean first."""
    values_by_combination: dict[tuple, list[float]] = {}
    for result in results:
        setting = result["setting"]
        combination = (setting["lr"], setting["batch_size"], setting["epochs"])
        values_by_combination.setdefault(combination, []).append(result["figures"][metric])
    rows = [("lr", "batch", "epochs", f"{metric} mean", "spread", "best", "seeds")]
    for (lr, batch_size, epochs), values in sorted(
        values_by_combination.items(), key=lambda item: -statistics.mean(item[1])
    ):
        spread = f"{statistics.stdev(values):.2f}" if len(values) > 1 else "-"
        epochs_text = "default" if epochs is None else f"{epochs:g}"
        rows.append((
            f"{lr:g}", f"{batch_size}", epochs_text, f"{statistics.mean(values):.2f}", spread, f"{max(values):.2f}",
            f"{len(values)}",
        ))  # fmt: skip
    return format_table(rows, ">>>>>>>")
