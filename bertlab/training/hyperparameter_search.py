"""Several runs of one fine-tuning: seeds, and a grid of learning rate, batch size and epochs (Devlin et al. 2019,
appendix A.3). Mean and spread of each setting are told, and the best run on the held-out rows is kept.

Every finished run is a line of `grid.jsonl`, so a grid that was stopped goes on. Knows no model.
"""

import itertools
import json
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.limits import check_limits
from bertlab.tasks.training_data import TrainingData
from bertlab.training import distributed
from bertlab.training.devices import resolve_device
from bertlab.training.progress import show_progress
from bertlab.training.run_directory import lock_run
from bertlab.training.run_settings import claim_run

PAPER = {"rates": (5e-5, 3e-5, 2e-5), "batches": (16, 32), "epochs": (2.0, 3.0, 4.0)}


def is_search(config) -> bool:
    """Whether a `FinetuneConfig` asks for more than one run."""
    return config.grid or config.seeds > 1 or bool(config.grid_rates or config.grid_batches or config.grid_epochs)


def settings(config) -> list[dict]:
    """Every setting to try; what no grid is given of is as the configuration has it."""
    paper = PAPER if config.grid else {"rates": (), "batches": (), "epochs": ()}
    rates = config.grid_rates or paper["rates"] or (config.optim.lr,)
    batches = config.grid_batches or paper["batches"] or (config.batch_size,)
    epochs = config.grid_epochs or paper["epochs"] or (config.epochs,)
    return [
        {"lr": lr, "batch_size": size, "epochs": times} for lr, size, times in itertools.product(rates, batches, epochs)
    ]


def runs(config) -> Iterator[tuple[dict, object]]:
    """(setting with its seed, configuration) of every run, all settings with one seed before the next seed."""
    for seed in range(config.seed, config.seed + config.seeds):
        for setting in settings(config):
            own = setting | {"seed": seed}
            yield (
                own,
                replace(
                    config,
                    out=config.out / "runs" / _name(own),
                    seed=seed,
                    batch_size=setting["batch_size"],
                    epochs=setting["epochs"],
                    optim=replace(config.optim, lr=setting["lr"]),
                    seeds=1,
                    grid=False,
                    grid_rates=(),
                    grid_batches=(),
                    grid_epochs=(),
                ),
            )


def run(config) -> list[dict]:
    """Train them all, one after the other, and print the table -> the finished runs with their figures.

    The best one's checkpoint is in `config.out`/checkpoint; the others keep their log only.

    Raises:
        BertlabError: settings that cannot be, no held-out rows to judge by, or a directory of another grid or of one
            that is under way.
    """
    from bertlab.training.finetune import read_data

    check_limits(config)
    if distributed.world_size() > 1:
        raise BertlabError("search-under-torchrun")
    data = read_data(config)
    if data.measure is None:
        raise BertlabError("search-without-held-out-rows")
    with lock_run(config):
        return _run(config, data)


def _run(config, data: TrainingData) -> list[dict]:
    from bertlab.training.finetune import print_evaluations, run_with_evaluations

    metric = data.spec.metrics[0]
    claim_run(config, resolve_device(config.device), data.fingerprint)
    done = _finished(config.out)
    if any(metric not in row["figures"] for row in done):
        raise BertlabError("search-other-metric", directory=config.out, metric=metric)
    everything = list(runs(config))
    for number, (setting, own) in enumerate(everything, 1):
        if any(row["setting"] == setting for row in done):
            continue
        print(f"run {number} of {len(everything)}: {_name(setting)}", flush=True)
        show_progress(print_evaluations(run_with_evaluations(own, data)), *data.task_type.progress_metric)
        record = json.loads((own.out / "checkpoint" / "bertlab.json").read_text())
        row = {"setting": setting, "figures": record["validation"], "minutes": record["training_minutes"]}
        if all(row["figures"][metric] > other["figures"][metric] for other in done):
            _keep(own.out / "checkpoint", config.out / "checkpoint")
        done.append(row)
        write_atomically(config.out / "grid.jsonl", "".join(json.dumps(row) + "\n" for row in done))
        (own.out / "state.safetensors").unlink(missing_ok=True)
        shutil.rmtree(own.out / "checkpoint", ignore_errors=True)
    print("\n".join(table(done, metric)))
    print(f"{config.out / 'checkpoint'}: the best of {len(done)} runs by {metric} on the held-out rows")
    return done


def table(done: list[dict], metric: str) -> list[str]:
    """One line for each setting: mean, spread (standard deviation), best and how many seeds, the best mean first."""
    by_setting: dict[tuple, list[float]] = {}
    for row in done:
        setting = row["setting"]
        key = (setting["lr"], setting["batch_size"], setting["epochs"])
        by_setting.setdefault(key, []).append(row["figures"][metric])
    lines = [
        f"{'lr':>8}  {'batch':>5}  {'epochs':>7}  {metric + ' mean':>20}  {'spread':>7}  {'best':>7}  {'seeds':>5}"
    ]
    for (lr, size, epochs), values in sorted(by_setting.items(), key=lambda item: -statistics.mean(item[1])):
        spread = f"{statistics.stdev(values):7.2f}" if len(values) > 1 else f"{'-':>7}"
        times = "default" if epochs is None else f"{epochs:g}"
        mean = statistics.mean(values)
        lines.append(f"{lr:8g}  {size:5}  {times:>7}  {mean:20.2f}  {spread}  {max(values):7.2f}  {len(values):5}")
    return lines


def _name(setting: dict) -> str:
    epochs = "" if setting["epochs"] is None else f"-epochs{setting['epochs']:g}"
    return f"lr{setting['lr']:g}-batch{setting['batch_size']}{epochs}-seed{setting['seed']}"


def _finished(out: Path) -> list[dict]:
    try:
        return [json.loads(line) for line in (out / "grid.jsonl").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _keep(best: Path, place: Path) -> None:
    """Copy a checkpoint to where the best one lies; it is there whole or not at all."""
    building = place.with_name(".checkpoint.building")
    shutil.rmtree(building, ignore_errors=True)
    shutil.copytree(best, building)
    if place.exists():
        shutil.rmtree(place)
    building.rename(place)
