"""The command line: what every command prints, as text and as JSON, and the error that a mistake causes."""

import errno
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
import tyro
from support.ports import free_port, wait_for_port

import bertlab
from bertlab import cli
from bertlab.abilities.results import as_json
from bertlab.checkpoints.checkpoint import save
from bertlab.cli import app as app_command
from bertlab.cli import checkpoint
from bertlab.cli.commands import COMMANDS
from bertlab.cli.flags import parse
from bertlab.config import crash_log
from bertlab.config.errors import BertlabError
from bertlab.config.languages import render
from bertlab.config.limits import check_limits
from bertlab.config.tasks import TASKS
from bertlab.tasks.span.metrics import answer_f1
from bertlab.training.pretraining.config import PretrainConfig, recipe_from_arguments

ROOT = Path(__file__).parents[1]
MASKED = "The potter set the [MASK] bowl on the [MASK]."
A, B = "Rain fell on the harbour.", "The boats stayed in."
QUESTION = "Who carried the lantern?"
PASSAGE = "The potter set the green bowl on the shelf. The keeper of the old mill carried the lantern."

pytestmark = pytest.mark.usefixtures("shipped")


@pytest.fixture
def run(capsys):
    """run(*words) runs a command line; its exit code, its standard output and its standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = cli.main(words)
        return code, *capsys.readouterr()

    return run


def printed_json(run, *words: str) -> dict:
    """The one JSON object that a command prints."""
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out)


def test_a_text_in_another_language_than_the_checkpoint_is_noted(run):
    code, out, err = run("fill-mask", "새가 [MASK] 불렀다.", "--checkpoint", str(bertlab.default_checkpoint()))
    assert code == 0
    assert out
    names = {"language": render("language-name-en"), "text_language": render("language-name-ko")}
    name = bertlab.load(bertlab.default_checkpoint()).name
    assert err.strip() == render("checkpoint-of-other-language", name=name, **names)
    assert run("fill-mask", MASKED)[2] == ""


# -- help


def test_the_list_of_commands(run):
    for words in ([], ["--help"], ["help"]):
        code, out, _ = run(*words)
        assert code == 0
        assert all(f"\n  {name} " in out for name in COMMANDS)
        assert not any(f"\n  {name} " in out for name in ("nsp", "attend", "lens"))  # spellings of other commands
    assert run("--version")[1].strip() == bertlab.__version__


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(run, name):
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert "\nExamples:\n" in out
    assert f"  bertlab {name}" in out


@pytest.mark.parametrize(("name", "titles"), [
    ("pretrain", ["", "model ", "pair ", "mask ", "monitoring ", "machine ", "model card ", "optim "]),
    ("finetune", ["", "data ", "custom task ", "question-answering ", "sentence vectors ", "distillation ",
                  "search ", "machine ",
                  "model card ", "optim "]),
    ("evaluate", ["", "custom task ", "predictions ", "machine "]),
])  # fmt: skip
def test_help_has_every_flag_once_in_its_section(run, name, titles):
    command = COMMANDS[name]
    kind = getattr(import_module(command.module, "bertlab"), command.config)
    _, out, _ = run(name, "--help")
    assert sorted(re.findall(r"^ (.*)options +$", out, re.MULTILINE)) == sorted(titles)
    flags = re.findall(r"^  --(?:no-(?!answer))?([a-z-]+)", out.replace("--optim.", "--optim-"), re.MULTILINE)
    plain = [each.name for each in fields(kind) if "Positional" not in str(each.type) and each.name != "optim"]
    assert sorted(flag for flag in flags if not flag.startswith("optim-") and flag != "ema") == sorted(
        {"kind": "type"}.get(name, name).strip("_").replace("_", "-") for name in plain
    )
    for names in kind.SECTIONS.values():
        assert set(names) <= {each.name for each in fields(kind)}


def test_help_wraps_at_list_items_and_omits_none_defaults(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name in COMMANDS:
        assert "None" not in run(name, "--help")[1]
    _, out, _ = run("pretrain", "--help")
    lines = [line.strip() for line in out.splitlines()]
    assert "4 x 512, minilm 6 x 384, medium" in " ".join(lines)
    assert not any(line.startswith("6 x 384") for line in lines)
    assert "(default: 32)" in out


def test_flags_of_sections_change_a_recipe():
    words = ["corpus", "--out", "run", "--recipe", "google", "--chosen-share", "0.3", "--optim.lr", "2e-4"]
    words += ["--no-sample-predictions"]
    config = parse(PretrainConfig, words, default=recipe_from_arguments(words))
    google = recipe_from_arguments(words)
    paths = {"corpus": Path("corpus"), "out": Path("run")}
    optim = replace(google.optim, lr=2e-4)
    assert config == replace(google, **paths, chosen_share=0.3, sample_predictions=False, optim=optim)


def test_old_flag_spelling_is_accepted_and_hidden(capsys):
    @dataclass(frozen=True)
    class Inner:
        depth: Annotated[int, tyro.conf.arg(aliases=("--old-depth",))] = 1

    @dataclass(frozen=True)
    class Outer:
        invalid: Annotated[str, tyro.conf.arg(aliases=("--damaged",))] = "stop"
        watch_it: Annotated[bool, tyro.conf.arg(aliases=("--look",))] = True
        inner: Inner = Inner()

    words = ["--damaged", "skip", "--no-look", "--inner.old_depth=3"]
    assert parse(Outer, words) == Outer("skip", False, Inner(3))
    with pytest.raises(SystemExit):
        parse(Outer, ["--help"])
    out = capsys.readouterr().out
    assert "--invalid" in out
    assert not any(old in out for old in ("damaged", "look", "old"))


@pytest.mark.parametrize(
    ("environment", "words", "expected"),
    [
        ({}, ["info"], "1000"),
        ({}, ["bench", "pretrain", "--help"], None),
        ({"GOMP_SPINCOUNT": "7"}, ["info"], "7"),
        ({"OMP_WAIT_POLICY": "active"}, ["info"], None),
    ],
)
def test_idle_threads_sleep_unless_the_environment_is_set(run, monkeypatch, environment, words, expected):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # so that monkeypatch restores both after the test
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run(*words)[0] == 0
    assert os.environ.get("GOMP_SPINCOUNT") == expected


def test_help_of_finetune_lists_every_task(run):
    words = set(re.findall(r"\w+", run("finetune", "--help")[1]))
    assert set(TASKS) <= words


def test_help_does_not_import_torch():
    light = [name for name, command in COMMANDS.items() if command.module.startswith("cli.") and name != "reproduce"]
    argvs = [["--help"], *([name, "--help"] for name in light)]
    code = f"import sys; from bertlab.cli import main; [main(w) for w in {argvs}]; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


# -- predictions and inside views


def test_fill_mask(run):
    fills = bertlab.load("strongest").fill_mask(MASKED, 3)
    assert printed_json(run, "fill-mask", MASKED, "--top-k", "3") == {
        "checkpoint": "strongest",
        "masks": [as_json(fill) for fill in fills],
    }
    _, out, _ = run("fill-mask", MASKED, "--top-k", "3")
    for fill in fills:
        for candidate in fill.candidates:
            assert f"{candidate.token} " in out
            assert f"{100 * candidate.probability:.1f}%" in out
    assert "[MASK] number 2" in out


def test_next_sentence(run):
    fact = bertlab.load("strongest").next_sentence(A, B)
    assert printed_json(run, "nsp", A, B) == {
        "checkpoint": "strongest",
        "label": fact.label,
        "probability": fact.probability,
        "objective": "next",
    }
    assert f"{100 * fact.probability:.1f}%" in run("nsp", A, B)[1]


def test_second_text_for_a_single_text_model_warns(run, tmp_path):
    session, record = bertlab.load("sst2"), {"task": {"kind": "classification", "text": ["sentence"]}}
    path = str(save(tmp_path / "judge", session.model, session.tokenizer, record))
    assert run("classify", A, "--checkpoint", path)[2] == ""
    error = run("classify", A, B, "--checkpoint", path)[2]
    assert error.strip() == render("fine-tuned-on-single-texts", checkpoint="judge")


def test_answer(run):
    answers = bertlab.load("squad").answer(QUESTION, PASSAGE, n_best=4)
    best = answers.answers[0]
    assert printed_json(run, "answer", QUESTION, PASSAGE, "--n-best", "4") == {
        "checkpoint": "squad",
        "text": best.text,
    } | as_json(answers)
    _, out, _ = run("answer", QUESTION, PASSAGE, "--n-best", "4")
    assert f"{PASSAGE[: best.start]}»{best.text}«{PASSAGE[best.end :]}" in out
    assert all(f"{answer.start}-{answer.end}" in out for answer in answers.answers)
    assert "(no answer)" in out
    unanswered = printed_json(run, "answer", QUESTION, PASSAGE, "--threshold", "-1e9")
    assert unanswered["text"] == ""
    assert unanswered["null_threshold"] == -1e9
    _, out, _ = run("answer", QUESTION, PASSAGE, "--threshold", "-1e9")
    assert out.startswith("no answer: ")


def test_attention(run):
    attention = bertlab.load("strongest").attention(A, B)
    assert printed_json(run, "attention", A, B) == {"checkpoint": "strongest"} | as_json(attention)
    _, out, _ = run("attention", A, B)
    words = [row.position for row in attention.tokens if not row.special]
    rows = out.splitlines()[1:5]
    for row, (layer, head) in zip(rows, [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        strongest = attention.probs_LNTT[layer, head][words][:, words].max()
        assert row.split()[:2] == [str(layer), str(head)]
        assert row.endswith(f"{strongest:.2f}")
    assert "[CLS]" not in out
    assert "[CLS]" in run("attention", A, B, "--layer", "1", "--head", "0", "--specials")[1]
    assert len(run("attention", A, B, "--head", "1")[1].splitlines()) == 3 + 2


def test_info(run):
    fact = printed_json(run, "info", "--checkpoint", "squad")
    assert (fact["heads"], fact["config"]["num_layers"], fact["record"]["steps"]) == (["span"], 2, 3)
    assert fact["shipped"] == ["bare", "comve", "scratch", "squad", "sst2", "strongest", "wikiann_en"]
    _, out, _ = run("info")
    assert out.splitlines()[0].split() == ["checkpoint", "strongest"]
    assert all(f"{name}:" in out for name in bertlab.find_shipped_checkpoints())
    assert "fill-mask, next-sentence" in out
    assert "masked_accuracy 0.01" in out
    assert run("info", "--checkpoint", "bare")[1].splitlines()[1].split() == ["commands", "embed"]


def test_info_wraps_lines_and_omits_empty_fields(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    session = bertlab.load("sst2")
    record = {"seed": 0, "note": "word " * 60, "attribution": "", "task": {"kind": "classification", "hub_id": ""}}
    path = str(save(tmp_path / "made", session.model, session.tokenizer, record))
    _, out, _ = run("info", "--checkpoint", path)
    lines = out.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert ["seed", "0"] in [line.split() for line in lines]
    assert sum(line.strip().startswith("word word") for line in lines) > 3
    assert "hub_id" not in out
    assert "attribution" not in out
    assert "None" not in out, "settings that this architecture does not have"


def test_a_text_from_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{PASSAGE}\n".encode())))
    assert printed_json(run, "answer", QUESTION, "-") == printed_json(run, "answer", QUESTION, PASSAGE)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe [MASK]")))
    assert len(printed_json(run, "fill-mask", "-")["masks"]) == 1


def test_korean_text_selects_the_korean_checkpoint(run, shipped, tmp_path, monkeypatch):
    for name in ("strongest", "korean"):
        shutil.copytree(shipped / "strongest", tmp_path / name)
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    for words, name in (
        (["fill-mask", "오늘은 [MASK]에 갑니다."], "korean"),
        (["nsp", "Rain fell.", "비가 왔다."], "korean"),
        (["fill-mask", "오늘은 [MASK].", "--checkpoint", "strongest"], "strongest"),
        (["fill-mask", "Rain [MASK]."], "strongest"),
    ):
        code, out, _ = run(*words, "--json")  # the vocabularies here are English, which standard error says
        assert code == 0
        assert json.loads(out)["checkpoint"] == name


def test_standard_input_may_be_cp949(run, monkeypatch):
    text = "오늘은 [MASK]에 갑니다."
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode("cp949"))))
    assert run("fill-mask", "-") == run("fill-mask", text)


def test_default_flags_are_within_their_limits():
    for command in COMMANDS.values():
        kind = getattr(import_module(command.module, "bertlab"), command.config)
        check_limits(SimpleNamespace(**{f.name: f.default for f in fields(kind)}))


@pytest.mark.parametrize(
    "text", ["-5 [MASK]", "[MASK] \udcff\ud800", "<script>[MASK]</script>", "\x1b[2J [MASK] \u202e"]
)
def test_hostile_texts_are_printed_safely(run, text):
    assert len(printed_json(run, "fill-mask", text)["masks"]) == 1
    code, out, _ = run("fill-mask", text)
    assert code == 0
    assert not {"\x1b", "\u202e", "\udcff"} & set(out)


# -- mistakes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fil-mask", "x"], 'there is no command "fil-mask"'),
        (["fill-mask"], "Missing from bertlab fill-mask: TEXT (see bertlab fill-mask --help)"),
        (["fill-mask", "x", "--top-k", "many"], "--top-k"),
        (["fill-mask", "x", "y"], "Unrecognized options: y"),
        (["fill-mask", "no mask"], "write [MASK]"),
        (["fill-mask", ""], "the text is empty"),
        (["fill-mask", "[MASK] " * 300], "302 tokens, but the model reads at most 64"),
        (["fill-mask", "[MASK]", "--top-k", "0"], "top_k is 0"),
        (["fill-mask", "[MASK]", "--checkpoint", "bare"], "no masked-token (MLM) output layer"),
        (["fill-mask", "[MASK]", "--checkpoint", "/no/such"], "/no/such"),
        (["fill-mask", "[MASK]", "--checkpoint", ""], "name a checkpoint"),
        (["fill-mask", "[MASK]", "--checkpoint", __file__], "is a file"),
        (["nsp", "-", "-"], "only one text"),
        (["nsp", A, ""], "the second text is empty"),
        (["answer", "", PASSAGE], "question is empty"),
        (["attention", A, "--layer", "2"], "no layer 2: layers go from 0 to 1"),
        (["attention", A, "--head", "-1"], "no head -1"),
        (["app", "--port", "0"], "0 is not a valid port"),
        (["evaluate", "squad"], "--checkpoint"),
        (["evaluate", "squad", "--predictions", "/no/such", "--data", __file__], "not JSON"),
        (["pretrain", "/no/such", "--out", "/no/where"], "/no/such"),
        (["pretrain"], "Missing from bertlab pretrain: --out DIR"),
        (["finetune", "cooking", "--from", "bare", "--out", "/no/where"], "cooking"),
        (["bench", "pretrain", "--preset", "giant"], "giant"),
        (["prepare", "a.txt", "--out", "/no/where", "--workers", "0"], "--workers is 0; it must be at least 1"),
    ],
)
def test_invalid_arguments_give_a_one_line_error(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("bertlab: ")
    assert message in last
    assert "Traceback" not in err
    if COMMANDS.get(words[0], COMMANDS["info"]).module in (".cli.explore", ".cli.app"):
        assert err.count("\n") == 1


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_errors_and_results_fit_the_encoding_of_the_terminal(monkeypatch, encoding):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert cli.main(["fill-mask"]) == 2
    assert sys.stderr.getvalue() == "bertlab: Missing from bertlab fill-mask: TEXT (see bertlab fill-mask --help)\n"
    assert cli.main(["fill-mask", "[MASK]", "--checkpoint", "strongest"]) == 0, "no character raises an error"


def test_a_damaged_checkpoint_gets_one_line(run, tmp_path):
    (tmp_path / "config.json").write_text("{")
    code, _, err = run("info", "--checkpoint", str(tmp_path))
    assert (code, err.count("\n")) == (2, 1)


def test_no_shipped_checkpoint_gets_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    code, _, err = run("fill-mask", "[MASK]")
    assert (code, err.count("\n")) == (2, 1)
    assert "BERTLAB_ASSETS" in err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError(errno.ENOSPC, "No space left on device", "a.json"), 2, "bertlab: a.json: No space left on device\n"),
        (MemoryError(), 2, f"bertlab: {BertlabError('out-of-memory')}\n"),
    ],
)
def test_interrupted_commands_exit_with_the_code_of_the_signal(run, monkeypatch, error, code, line):
    def interrupted(config):
        raise error

    monkeypatch.setattr(checkpoint, "info", interrupted)
    assert run("info") == (code, "", line)


def test_a_bug_is_one_line_with_an_id_and_its_stack_is_logged(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(checkpoint, "info", lambda config: 1 / 0)
    code, out, err = run("info")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ZeroDivisionError: division by zero" in err
    log = tmp_path / "bertlab" / "errors.log"
    id = re.search(rf"{log} under id (\w+)", err).group(1)
    assert f"{id} bertlab info\nTraceback" in log.read_text()
    monkeypatch.setenv("BERTLAB_TRACEBACK", "1")
    code, _, err = run("info")
    assert code == 1
    assert "Traceback" in err
    assert log.read_text().count("Traceback") == 2


def test_a_bug_is_reported_where_no_log_can_be_written(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    class PanicError(BaseException):
        """As the bindings of Rust libraries raise it."""

    def panic(config):
        raise PanicError("index out of bounds\nnote: run with RUST_BACKTRACE=1")

    monkeypatch.setattr(checkpoint, "info", panic)
    code, out, err = run("info")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "PanicError: index out of bounds" in err


def test_a_large_crash_log_is_rotated(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = crash_log.find_log_path()
    log.parent.mkdir()
    log.write_bytes(b"x" * (crash_log.MAX_BYTES + 1))
    assert crash_log.log_unexpected_error(ValueError("new"), "test").id == "unexpected-error"
    assert log.stat().st_size < 1000
    assert log.with_name("errors.log.1").stat().st_size > crash_log.MAX_BYTES


def test_an_alias_runs_its_command(run):
    assert run("nsp", A, B) == run("next-sentence", A, B)
    assert run("attend", A, B) == run("attention", A, B)
    assert run("lens", MASKED) == run("logit-lens", MASKED)
    assert run("bench", "--preset", "giant")[2].endswith("(see bertlab bench pretrain --help)\n")


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)], ids=" ".join)
def test_bench_lists_the_benchmarks_and_starts_none(run, monkeypatch, words):
    monkeypatch.setattr("benchmarks.pretrain.run", lambda config: pytest.fail("a benchmark was started"))
    code, out, err = run("bench", *words)
    assert (code, err) == (0, "")
    names = {name.removeprefix("bench ") for name in COMMANDS if name.startswith("bench ")}
    assert {line.split()[0] for line in out.splitlines() if line.startswith("  ")} == names


def test_an_unknown_benchmark_is_an_unknown_command(run):
    code, out, err = run("bench", "fintune")
    assert (code, out) == (2, "")
    assert '"bench fintune"' in err


@pytest.mark.parametrize("words", [("reproduce", "table5"), ("finetune", "sst2", "--seed", "3")], ids=" ".join)
def test_help_after_arguments_equals_the_help_without_them(run, words):
    assert run(*words, "--help") == run(words[0], "--help")


def test_closed_output_pipe_ends_the_command_quietly():
    command = [sys.executable, "-m", "bertlab", "attention", "tea " * 60, "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(15) == b'{"checkpoint": '
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


# -- evaluation


def test_evaluate_scores_a_predictions_file(run, tmp_path):
    questions = [("q1", "the keeper", ["The keeper", "keeper of the mill"]), ("q2", "a green cup", ["green bowl"])]
    qas = [
        {"id": id, "question": QUESTION, "answers": [{"text": t, "answer_start": 0} for t in golds]}
        for id, _, golds in questions
    ]
    data = {"version": "1.1", "data": [{"title": "mill", "paragraphs": [{"context": PASSAGE, "qas": qas}]}]}
    (tmp_path / "data.json").write_text(json.dumps(data))
    (tmp_path / "mine.json").write_text(json.dumps({id: text for id, text, _ in questions}))
    words = ["evaluate", "squad", "--predictions", str(tmp_path / "mine.json"), "--data", str(tmp_path / "data.json")]
    metrics = printed_json(run, *words)
    assert (metrics["exact_match"], metrics["f1"]) == (50.0, 75.0)
    assert answer_f1("a green cup", "green bowl") == 0.5
    _, out, _ = run(*words)
    assert "exact_match" in out
    assert "75.0" in out


# -- the app


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_app_starts_streamlit(run, monkeypatch, system):
    started = []
    monkeypatch.setattr(app_command.sys, "platform", system)
    monkeypatch.setattr(app_command.os, "execv", lambda python, command: started.append(command) or 0)
    monkeypatch.setattr(app_command.subprocess, "call", lambda command: started.append(command) or 0)
    port = free_port()
    assert run("app", "--port", str(port), "--no-browser")[0] == 0
    (command,) = started
    script = command[command.index("run") + 1]
    assert Path(script) == ROOT / "app" / "bertlab_app" / "launch" / "streamlit_app.py"
    assert {f"--server.port={port}", "--server.headless=true", "--server.address=localhost"} <= set(command)


def test_a_class_starts_the_server_that_browsers_ask_for_news(run, monkeypatch):
    started = []
    for name in (app_command.CLASSROOM_LESSON, app_command.CLASSROOM_KEY, app_command.CLASSROOM_ADDRESS):
        monkeypatch.setenv(name, "")  # the command changes them
    monkeypatch.setattr(app_command.sys, "platform", "linux")
    monkeypatch.setattr(app_command.os, "execv", lambda python, command: started.append(command) or 0)
    assert run("app", "--class", "attention", "--port", str(free_port()))[0] == 0
    assert Path(started[0][started[0].index("run") + 1]) == ROOT / "app" / "bertlab_app" / "launch" / "class_server.py"


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, SIGTERM kills a process without letting it clean up")
def test_stopping_the_app_stops_its_server():
    port = free_port()
    command = [sys.executable, "-m", "bertlab", "app", "--port", str(port), "--no-browser"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        process.terminate()
        process.wait(30)
        with socket.socket() as connection:
            assert connection.connect_ex(("localhost", port)) != 0, "the port is still open"
    finally:
        process.kill()


def test_app_says_that_a_port_is_taken(run):
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        code, _, err = run("app", "--port", str(port))
    assert (code, err) == (2, f"bertlab: {render('app-port-in-use', port=port)}\n")


def test_app_says_that_streamlit_is_missing(run, monkeypatch):
    monkeypatch.setattr(app_command, "find_spec", lambda name: None)
    assert run("app")[2] == f"bertlab: {render('app-needs-streamlit')}\n"
