"""The table of all commands. This module does not import their code."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """The location of a command's code, and a summary of the command."""

    module: str
    """The module of the command; a name that begins with a dot is relative to `bertlab`."""
    config: str
    """The name of a dataclass in that module. Its fields become the flags."""
    function: str
    """The name of a function in that module. It takes an instance of the dataclass, runs the command, and may return an
    exit code."""
    summary: str
    """One line for the list of commands."""
    recipes: str = ""
    """The module whose `recipe_from_arguments` and `recipe_from_config` return a recipe: default values for some
    settings, which depend on other flags such as `--recipe fast`. "" if the command has no recipes."""


# one or two words of the command line -> the command that they run
COMMANDS = {
    "embed": Command(".cli.sentences", "Embed", "embed", "compute a vector for every text of a file"),
    "similar": Command(".cli.sentences", "Similar", "similar", "find similar texts in a file"),
    "cluster": Command(".cli.sentences", "Cluster", "cluster", "find clusters of similar texts in a file"),
    "writing": Command(".cli.writing", "Writing", "writing", "find words that do not fit, and predict the next word"),
    "attention": Command(".cli.explore", "AttentionOptions", "attention", "show where each attention head attends"),
    "heads": Command(".cli.explore", "HeadsOptions", "heads", "measure the effect of each attention head"),
    "logit-lens": Command(
        ".cli.explore", "LogitLensOptions", "logit_lens", "show what each layer would predict (logit lens)"
    ),
    "pretraining-example": Command(
        ".cli.pretraining_example",
        "PretrainingExampleOptions",
        "pretraining_example",
        "sample one pre-training example and show its losses",
    ),
    "cost": Command(".cli.cost", "CostOptions", "cost", "estimate parameters, FLOP, memory, time and price of a BERT"),
    "info": Command(".cli.checkpoint", "Info", "info", "describe a checkpoint; list the shipped ones"),
    "export": Command(".cli.checkpoint", "Export", "export", "write a quantised, pruned or averaged checkpoint"),
    "compress": Command(
        ".training.compression.compress", "CompressConfig", "run", "make a fine-tuned checkpoint smaller and faster"
    ),
    "export-live": Command(
        ".cli.export_live", "ExportLive", "export_live", "write one HTML file that runs a checkpoint in any browser"
    ),
    "app": Command(".cli.app", "App", "app", "open the app in the browser"),
    "serve": Command(
        ".cli.serve", "ServeOptions", "serve", "answer requests over HTTP with a checkpoint's predictions"
    ),
    "prepare": Command(
        ".training.pretraining.prepare", "PrepareConfig", "run", "turn raw text into a corpus and a vocabulary"
    ),
    "pretrain": Command(
        ".training.pretraining.pretrain",
        "PretrainConfig",
        "run",
        "pre-train a BERT on a corpus",
        recipes=".training.pretraining.config",
    ),
    "story-world": Command(
        ".cli.story_world", "StoryWorldOptions", "story_world", "write labelled rows about generated stories"
    ),
    "finetune": Command(".training.finetune", "FinetuneConfig", "run", "fine-tune a checkpoint on a task"),
    "evaluate": Command(
        ".training.evaluate", "EvaluateConfig", "run", "evaluate a checkpoint or a file of predictions"
    ),
    "reproduce": Command(".cli.reproduce", "ReproduceConfig", "run", "reproduce a table of the paper at small scale"),
    "export-run": Command(
        ".training.export_run", "ExportRunConfig", "run", "pack a finished run and its snapshots for sharing"
    ),
    "bench pretrain": Command(
        "benchmarks.pretrain", "PretrainBenchConfig", "run", "compare pre-training speed with transformers"
    ),
    "bench finetune": Command(
        "benchmarks.finetune", "FinetuneBenchConfig", "run", "compare fine-tuning speed with transformers' Trainer"
    ),
    "bench features": Command(
        "benchmarks.features",
        "FeaturesBenchConfig",
        "run",
        "compare how fast bertlab and transformers prepare SQuAD inputs",
    ),
    "bench lengths": Command(
        "benchmarks.lengths", "LengthsBenchConfig", "run", "measure pre-training speed by sequence length"
    ),
    "bench step": Command(
        "benchmarks.training_step", "StepBenchConfig", "run", "measure the speed of individual parts of a training step"
    ),
    "bench prepare": Command(
        "benchmarks.prepare", "PrepareBenchConfig", "run", "measure the speed and memory of bertlab prepare"
    ),
    "bench cost": Command(
        "benchmarks.cost", "CostBenchConfig", "run", "compare the estimates of bertlab cost with real training steps"
    ),
    "bench finetune-parity": Command(
        "benchmarks.finetune_parity", "ParityBenchConfig", "run", "compare fine-tuning results with transformers"
    ),
    "bench families": Command(
        "benchmarks.families",
        "FamiliesBenchConfig",
        "run",
        "compare BERT with five later families in equal training time",
    ),
    "bench app": Command("benchmarks.app", "AppBenchConfig", "run", "measure response times of the app in a browser"),
    "bench classroom": Command(
        "benchmarks.classroom", "ClassroomBenchConfig", "run", "measure response times of the app with thirty students"
    ),
    "bench attention-view": Command(
        "benchmarks.attention_view",
        "AttentionViewBenchConfig",
        "run",
        "compare the attention view's speed with bertviz",
    ),
    "bench time-machine": Command(
        "benchmarks.time_machine",
        "TimeMachineBenchConfig",
        "run",
        "measure frame times of the page that replays the snapshots of a run",
    ),
    "bench live": Command(
        "benchmarks.live",
        "LiveBenchConfig",
        "run",
        "measure how fast the HTML file of bertlab export-live is in a browser",
    ),
    "bench writing": Command(
        "benchmarks.writing",
        "WritingBenchConfig",
        "run",
        "measure spelling and spacing suggestions on artificial errors",
    ),
    "bench serve": Command(
        "benchmarks.serve",
        "ServeBenchConfig",
        "run",
        "measure how much each optimisation speeds up classification on a CPU",
    ),
    "bench serve-load": Command(
        "benchmarks.serve_load", "ServeLoadBenchConfig", "run", "measure bertlab serve under load and during failures"
    ),
    "bench report": Command(
        "benchmarks.results", "ReportConfig", "run", "write BENCHMARKS.md from the recorded results"
    ),
}

ALIASES = {"nsp": "next-sentence", "attend": "attention", "lens": "logit-lens", "bench": "bench pretrain"}
"""Another spelling of a command, or its older name -> the command. The list of commands omits these. `bench` with flags
runs `bench pretrain`; `bench` alone lists the benchmarks."""

HELP = """bertlab {version}: train BERT and look inside it.

usage: bertlab COMMAND ...        bertlab COMMAND --help shows the options of a command

{commands}

examples:
  bertlab app    # look inside a BERT in your browser
  bertlab fill-mask "The cat [MASK] on the mat."
  bertlab answer "Who rang the bell?" "The bell was rung by Anna, the keeper."
  bertlab info --checkpoint google-bert/bert-base-uncased
"""
"""What `bertlab --help` prints."""

BENCH_HELP = """Measure bertlab's speed, memory and accuracy, and report them.

usage: bertlab bench NAME ...        bertlab bench NAME --help shows the options of a benchmark

{commands}
"""
"""What `bertlab bench --help` prints."""
