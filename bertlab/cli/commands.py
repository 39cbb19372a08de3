"""Every command in a row: where it lives and what it does. Imports none of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """Where a command lives: its module in `bertlab`, its configuration there and the function that takes it; line:
    what it does.

    recipes: a module whose `asked` finds, in a command line, the configuration that its flags change.
    """

    module: str
    config: str
    function: str
    line: str
    recipes: str = ""


COMMANDS = {
    "fill-mask": Command("cli.ask", "FillMask", "fill_mask", "what a BERT would put in place of [MASK]"),
    "nsp": Command("cli.ask", "NextSentence", "next_sentence", "does the second sentence follow the first?"),
    "answer": Command("cli.ask", "Answer", "answer", "find the answer to a question in a passage"),
    "classify": Command("cli.ask", "Classify", "classify", "which label a text has, or what value"),
    "choose": Command("cli.ask", "Choose", "choose", "which of several texts goes on best"),
    "tag": Command("cli.ask", "Tag", "tag", "the names, places and so on in a text"),
    "heads": Command("cli.explore", "Heads", "heads", "what every attention head does for a prediction"),
    "lens": Command("cli.explore", "LensOf", "lens", "what every layer would say; masks filled together"),
    "attend": Command("cli.explore", "Attend", "attend", "where every attention head looks"),
    "info": Command("cli.checkpoint", "Info", "info", "what a checkpoint is, and which are shipped"),
    "export": Command("cli.checkpoint", "Export", "export", "a checkpoint in fewer bits, without heads, or averaged"),
    "app": Command("cli.app", "App", "app", "open the browser window"),
    "prepare": Command("training.pretraining.prepare", "PrepareConfig", "run", "raw text to a corpus and a vocabulary"),
    "pretrain": Command(
        "training.pretraining.pretrain", "PretrainConfig", "run", "a corpus to a BERT, or to a better one",
        recipes="training.pretraining.recipes",
    ),
    "finetune": Command("training.finetune", "FinetuneConfig", "run", "teach a BERT a task"),
    "evaluate": Command("training.evaluate", "EvaluateConfig", "run", "measure a checkpoint, or predictions"),
    "reproduce": Command("cli.reproduce", "ReproduceConfig", "run", "a table of the paper, beside the paper's"),
    "export-run": Command("training.export_run", "ExportRunConfig", "run", "a finished run, small enough to ship"),
    "bench": Command("bench.pretrain", "BenchConfig", "run", "how fast it pre-trains, beside transformers"),
    "bench lengths": Command("bench.lengths", "LengthsBenchConfig", "run", "what a token costs, by length"),
    "bench finetune": Command(
        "bench.finetune", "FinetuneBenchConfig", "run", "how fast it fine-tunes, beside transformers"
    ),
    "bench features": Command(
        "bench.features", "FeaturesBenchConfig", "run", "how fast SQuAD's rows become what a model reads"
    ),
}  # fmt: skip

HELP = """bertlab {version}: BERT, opened up.

usage: bertlab COMMAND ...        bertlab COMMAND --help says more

{commands}

examples:
  bertlab app                                         look inside a BERT in your browser
  bertlab fill-mask "The cat [MASK] on the mat."
  bertlab answer "Who rang the bell?" "The bell was rung by Anna, the keeper."
  bertlab info --checkpoint google-bert/bert-base-uncased
"""
