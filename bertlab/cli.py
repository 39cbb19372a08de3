"""The command line: names to functions, flags from dataclasses, mistakes in one line.

Only the module of the command that is called gets imported, so help comes at once. Knows nothing of how an answer is
found or how a model learns.
"""

import contextlib
import inspect
import io
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

import bertlab
from bertlab.spec.errors import BertlabError

if TYPE_CHECKING:
    from bertlab.explore.session import Session

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # exit codes; the last two are 128 + the signal, as shells have it


@dataclass(frozen=True)
class Command:
    """Where a command lives: its module, its configuration there and the function that takes it; line: what it does.

    recipes: a module whose `asked` finds, in a command line, the configuration that its flags change.
    """

    module: str
    config: str
    function: str
    line: str
    recipes: str = ""


# -- asking a checkpoint -----------------------------------------------------------------------------------------

Text = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]


@dataclass(frozen=True, kw_only=True)
class Ask:
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """A directory, the name of a shipped checkpoint, or a hub id. Without it: the shipped one that suits."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True)
class FillMask(Ask):
    """What a BERT would put in place of [MASK].

    Examples:
      bertlab fill-mask "The cat [MASK] on the mat."
      bertlab fill-mask "A [MASK] of hot [MASK]." --top-k 3
      echo "Rain [MASK] on the roof." | bertlab fill-mask - --json
    """

    text: Text
    """The text, with [MASK] for every word to guess; - reads it from standard input."""
    pair: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """A second text, read after the first."""
    top_k: int = 5
    """Proposals for each mask."""


def fill_mask(config: FillMask) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import mask_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask")
    fills = session.fill_mask(text, config.top_k, config.pair)
    shown = text if config.pair is None else f"{text} | {config.pair}"
    tell(config, session, {"masks": [as_json(fill) for fill in fills]}, mask_lines(shown, fills))


@dataclass(frozen=True)
class NextSentence(Ask):
    """Does the second sentence follow the first?

    Examples:
      bertlab nsp "She opened the window." "Cold air came in."
      bertlab nsp "She opened the window." "Goats have square pupils." --json
    """

    first: Text
    """Sentence A; - reads it from standard input."""
    second: Text
    """Sentence B; - reads it from standard input."""


def next_sentence(config: NextSentence) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import next_sentence_lines

    first, second = read_texts(config.first, config.second)
    session = open_session(config, "nsp")
    fact = session.next_sentence(first, second)
    tell(config, session, {"label": fact.label} | as_json(fact), next_sentence_lines(first, second, fact))


@dataclass(frozen=True)
class Answer(Ask):
    """Find the answer to a question in a passage.

    Examples:
      bertlab answer "Who carried the lantern?" "The keeper of the old mill carried the lantern."
      bertlab answer "When was it built?" - < passage.txt
    """

    question: Text
    """What to ask; - reads it from standard input."""
    passage: Text
    """Where to look, of any length; - reads it from standard input."""
    n_best: int = 5
    """Answers to show."""
    max_answer_tokens: int = 30
    """Tokens in an answer."""
    stride: int = 128
    """A long passage is read in windows; how many tokens each begins after the one before."""
    max_tokens: int = 384
    """Tokens in a window, the question's included."""
    batch_size: int = 8
    """Windows read at once."""
    null_threshold: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """tau: how far the no-answer's score must lie above the best answer's to be said; else the checkpoint's own."""


def answer(config: Answer) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import answer_lines

    question, passage = read_texts(config.question, config.passage)
    session = open_session(config, "answer")
    found = session.answer(
        question, passage, config.n_best, config.max_answer_tokens, config.stride, config.max_tokens,
        config.batch_size, config.null_threshold,
    )  # fmt: skip
    mark = ("\x1b[1;7m", "\x1b[0m") if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ("»", "«")
    tell(config, session, {"text": found.text} | as_json(found), answer_lines(passage, found, mark))


@dataclass(frozen=True)
class Classify(Ask):
    """Which label a text has, or what value: what a fine-tuned checkpoint was taught.

    Examples:
      bertlab classify "A quiet, lovely film."
      bertlab classify "A man plays." "Somebody makes music." --checkpoint runs/mnli/checkpoint
      bertlab classify - --json < review.txt
    """

    text: Text
    """The text; - reads it from standard input."""
    pair: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")] = None
    """A second text, for a checkpoint that was taught on pairs."""


def classify(config: Classify) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import classification_lines

    texts = read_texts(config.text, *([] if config.pair is None else [config.pair]))
    session = open_session(config, "classify")
    fact = session.classify(*texts)
    label = {} if fact.best is None else {"label": fact.best.label}
    tell(config, session, label | as_json(fact), classification_lines(texts, fact))


@dataclass(frozen=True)
class Choose(Ask):
    """Which of several texts goes on best.

    Examples:
      bertlab choose "He put a turkey into the fridge." "Turkeys fly." "A live turkey does not fit there."
    """

    context: Text
    """What comes before; - reads it from standard input."""
    choices: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="TEXT ...")]
    """Two or more ways to go on."""


def choose(config: Choose) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import choice_lines

    context, *choices = read_texts(config.context, *config.choices)
    session = open_session(config, "choose")
    found = session.choose(context, choices)
    tell(config, session, {"choices": [as_json(choice) for choice in found]}, choice_lines(context, found))


@dataclass(frozen=True)
class Tag(Ask):
    """The names, places and so on in a text: a tag for every word.

    Examples:
      bertlab tag "Ada Lovelace was born in London."
      bertlab tag "Ada Lovelace was born in London." --words
      bertlab tag - --json < article.txt
    """

    text: Text
    """The text; - reads it from standard input."""
    words: bool = False
    """Show every word, not the entities alone."""


def tag(config: Tag) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import tag_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "tag")
    found = session.tag(text)
    tell(config, session, as_json(found), tag_lines(text, found, config.words))


@dataclass(frozen=True)
class Attend(Ask):
    """Where every head looks: its strongest pair of tokens, or with --layer and --head one head in full.

    Examples:
      bertlab attend "The keeper carried the lantern because it was dark."
      bertlab attend "She poured the tea." "It was hot." --layer 2 --head 5
      bertlab attend "She poured the tea." --json > attention.json
    """

    text: Text
    """The text; - reads it from standard input."""
    pair: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")] = None
    """A second text, read after the first."""
    layer: int | None = None
    """Only this layer; layers count from 0."""
    head: int | None = None
    """Only this head; heads count from 0."""
    specials: bool = False
    """Count [CLS] and [SEP] too; many heads rest on them."""


def attend(config: Attend) -> None:
    from bertlab.explore.facts import as_json
    from bertlab.views.terminal import attention_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "attend")
    counts = {"layer": session.config.num_layers, "head": session.config.num_heads}
    for name, count in counts.items():
        asked = getattr(config, name)
        if asked is not None and not 0 <= asked < count:
            raise BertlabError(f"there is no {name} {asked}: they go from 0 to {count - 1}")
    found = session.attention(text, config.pair)
    lines = [] if config.json else attention_lines(found, config.layer, config.head, config.specials)
    tell(config, session, as_json(found) if config.json else {}, lines)


@dataclass(frozen=True)
class Info(Ask):
    """What a checkpoint is: its sizes, what it can be asked, how it was made. Also lists the shipped ones.

    Examples:
      bertlab info
      bertlab info --checkpoint google-bert/bert-base-uncased --json
    """


def info(config: Info) -> None:
    from dataclasses import asdict

    from bertlab.explore.session import shipped
    from bertlab.views.terminal import table

    session = open_session(config, "info")
    sizes = {name: size for name, size in asdict(session.config).items() if not isinstance(size, tuple)}
    sizes |= {"parameters": sum(p.numel() for p in session.model.parameters())}
    fact = {
        "heads": session.heads,
        "labels": session.labels,
        "config": sizes,
        "record": session.record,
        "shipped": sorted(shipped()),
    }
    rows = [("can be asked", ", ".join(TASKS[head] for head in session.heads) or "attend only: it is a bare encoder")]
    rows += [("labels", _short(list(session.labels)))] if session.labels else []
    rows += [
        (name.replace("_", " "), f"{n:,}" if isinstance(n, int) else str(n)) for name, n in sizes.items() if n != ()
    ]
    rows += [(name.replace("_", " "), _short(value)) for name, value in session.record.items() if value]
    rows += [("shipped here", ", ".join(shipped()) or "none")]
    tell(config, session, fact, table(rows, "<<"))


TASKS = {
    "mlm": "fill-mask", "nsp": "nsp", "span": "answer", "classify": "classify", "regress": "classify",
    "choose": "choose", "tag": "tag",
}  # fmt: skip


def _short(value: object) -> str:
    """A value of a record in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def read_texts(*texts: str) -> list[str]:
    """The texts, one of which may be "-": standard input."""
    if texts.count("-") > 1:
        raise BertlabError("only one text can be read from standard input")
    return [sys.stdin.buffer.read().decode(errors="replace").rstrip("\n") if text == "-" else text for text in texts]


def open_session(config: Ask, task: str) -> "Session":
    """What is asked: the checkpoint that was named, or the shipped one that suits the task. Raises CheckpointError."""
    from bertlab.explore.session import default_checkpoint, load

    return load(config.checkpoint if config.checkpoint is not None else default_checkpoint(task))


def tell(config: Ask, session: "Session", fact: dict, lines: list[str]) -> None:
    """Print a fact as JSON, or its lines."""
    if config.json:
        print(json.dumps({"checkpoint": session.name} | fact))
    else:
        print("\n".join([*lines, "", f"checkpoint: {session.name}"]))


# -- the window --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class App:
    """Open the browser window.

    Examples:
      bertlab app
      bertlab app --port 8600 --no-browser
    """

    port: int = 8501
    """Where it listens."""
    host: str = "localhost"
    """0.0.0.0 lets a whole classroom in."""
    browser: bool = True
    """Whether to open a browser, where there is a screen."""


def app(config: App) -> int:
    script = Path(__file__).parents[1] / "app" / "streamlit_app.py"
    if not script.is_file():
        raise BertlabError("the window is not here: run bertlab from a clone of its repository")
    if find_spec("streamlit") is None:
        raise BertlabError("the window needs streamlit: pip install -r requirements.txt")
    if not 0 < config.port < 65536:
        raise BertlabError(f"there is no port {config.port}: they go from 1 to 65535")
    with socket.socket() as probe:
        if probe.connect_ex(("localhost", config.port)) == 0:
            raise BertlabError(f"port {config.port} is in use: choose another with --port")
    options = {
        "server.port": config.port,
        "server.address": config.host,
        "server.headless": str(not config.browser).lower(),
        "server.showEmailPrompt": "false",
    }
    print(f"bertlab opens on http://{config.host}:{config.port} (Ctrl-C closes it)", flush=True)
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *flags]
    if sys.platform == "win32":  # there exec leaves the terminal before the window closes
        return subprocess.call(command)
    # this process becomes the server, so that whoever stops it (Ctrl-C, SIGTERM of a service) stops the server
    return os.execv(sys.executable, command)


# -- dispatch ----------------------------------------------------------------------------------------------------

COMMANDS = {
    "fill-mask": Command("bertlab.cli", "FillMask", "fill_mask", "what a BERT would put in place of [MASK]"),
    "nsp": Command("bertlab.cli", "NextSentence", "next_sentence", "does the second sentence follow the first?"),
    "answer": Command("bertlab.cli", "Answer", "answer", "find the answer to a question in a passage"),
    "classify": Command("bertlab.cli", "Classify", "classify", "which label a text has, or what value"),
    "choose": Command("bertlab.cli", "Choose", "choose", "which of several texts goes on best"),
    "tag": Command("bertlab.cli", "Tag", "tag", "the names, places and so on in a text"),
    "heads": Command("bertlab.cli_change", "Heads", "heads", "what every attention head does for a prediction"),
    "lens": Command("bertlab.cli_change", "LensOf", "lens", "what every layer would say; masks filled together"),
    "attend": Command("bertlab.cli", "Attend", "attend", "where every attention head looks"),
    "info": Command("bertlab.cli", "Info", "info", "what a checkpoint is, and which are shipped"),
    "export": Command("bertlab.cli_change", "Export", "export", "a checkpoint in fewer bits, or without some heads"),
    "app": Command("bertlab.cli", "App", "app", "open the browser window"),
    "prepare": Command(
        "bertlab.learn.pretraining.prepare", "PrepareConfig", "run", "raw text to a corpus and a vocabulary"
    ),
    "pretrain": Command(
        "bertlab.learn.pretraining.pretrain",
        "PretrainConfig",
        "run",
        "a corpus to a BERT, or to a better one",
        "bertlab.learn.pretraining.recipes",
    ),
    "finetune": Command("bertlab.learn.tasks.finetune", "FinetuneConfig", "run", "teach a BERT a task"),
    "evaluate": Command("bertlab.learn.evaluate", "EvaluateConfig", "run", "measure a checkpoint, or predictions"),
    "reproduce": Command("bertlab.cli_reproduce", "ReproduceConfig", "run", "a table of the paper, beside the paper's"),
    "export-run": Command("bertlab.learn.export_run", "ExportRunConfig", "run", "a finished run, small enough to ship"),
    "bench": Command("bertlab.bench.pretrain", "BenchConfig", "run", "how fast it pre-trains, beside transformers"),
    "bench finetune": Command(
        "bertlab.bench.finetune", "FinetuneBenchConfig", "run", "how fast it fine-tunes, beside transformers"
    ),
    "bench features": Command(
        "bertlab.bench.features", "FeaturesBenchConfig", "run", "how fast SQuAD's rows become what a model reads"
    ),
}

HELP = """bertlab {version}: BERT, opened up.

usage: bertlab COMMAND ...        bertlab COMMAND --help says more

{commands}

examples:
  bertlab app                                         look inside a BERT in your browser
  bertlab fill-mask "The cat [MASK] on the mat."
  bertlab answer "Who rang?" "The bell was rung by the keeper of the mill."
  bertlab info --checkpoint google-bert/bert-base-uncased
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command -> its exit code: 0, or 2 for a user's mistake, which is said in one line on stderr."""
    with contextlib.suppress(AttributeError, ValueError):
        # a terminal that cannot show a character gets a question mark and not a traceback
        sys.stdout.reconfigure(errors="replace")
        sys.stderr.reconfigure(errors="replace")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except BertlabError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read has gone; Python flushes once more when it ends, which must not fail again
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemoryError:
        return _refuse("there is not enough memory for this")
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:16}{command.line}" for name, command in COMMANDS.items())
        print(HELP.format(version=bertlab.__version__, commands=listed), end="")
        return 0
    if words[0] == "--version":
        print(bertlab.__version__)
        return 0
    name, *rest = words
    if rest and f"{name} {rest[0]}" in COMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name not in COMMANDS:
        raise BertlabError(f"there is no command {name!r}: bertlab --help lists them")
    command = COMMANDS[name]
    try:
        module = import_module(command.module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bertlab"):
            raise
        raise BertlabError(f"bertlab {name} needs {error.name}: pip install {error.name}") from None
    recipe = import_module(command.recipes).asked(rest) if command.recipes else None
    config = _parse(getattr(module, command.config), f"bertlab {name}", rest, recipe)
    if config is None:
        return 0
    code = getattr(module, command.function)(config)
    return code if isinstance(code, int) else 0


def _parse(kind: type, name: str, words: list[str], recipe: object | None = None) -> object | None:
    """Words to a configuration, the recipe changed by them if there is one; None where help was asked for and given."""
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            return tyro.cli(
                kind,
                prog=name,
                args=words,
                description=inspect.getdoc(kind),
                config=(tyro.conf.FlagCreatePairsOff,),
                **({"default": recipe} if recipe else {}),
            )
    except SystemExit as exit:
        if not exit.code:
            return None
    raise BertlabError(f"{_unboxed(boxed.getvalue())} ({name} --help says more)")


def _unboxed(report: str) -> str:
    """The first paragraph of a report in a box, as one line.

    >>> _unboxed("╭─ Value error ─╮\\n│ Expected one  │\\n│   number      │\\n│ ───────────── │\\n│ See --help    │")
    'Expected one number'
    """
    paragraph = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", report).splitlines()[1:]:
        text = line[1:-1].rstrip()
        rule = set(text) <= set(" ─-")
        if rule and paragraph:
            break
        # what stands further in is the help of an argument, which --help gives better
        if not rule and not text.startswith(8 * " "):
            paragraph += text.split()
    return " ".join(paragraph) or "this cannot be understood"


def _refuse(line: str) -> int:
    if os.environ.get("TORCHELASTIC_RUN_ID") and (rank := os.environ.get("RANK", "0")) != "0":
        # a mistake all processes share is said by the first; when that has ended, torchrun ends this one
        time.sleep(10)
        line = f"process {rank}: {line}"
    print(f"bertlab: {' '.join(line.split())}", file=sys.stderr)
    return USAGE
