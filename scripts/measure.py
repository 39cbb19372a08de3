"""Print the size of the code, its circles, and how far a click and a configuration travel: `make measure`."""

import ast
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"bertlab": ROOT / "bertlab", "bertlab_app": ROOT / "app" / "bertlab_app", "benchmarks": ROOT / "benchmarks"}
ENCODER = ROOT / "assets" / "checkpoints" / "scratch"  # what the small fine-tuning run starts from


def count_lines(*folders: str) -> int:
    """Count the lines of the Python files in folders of the repository, as `wc -l` does."""
    return sum(path.read_bytes().count(b"\n") for folder in folders for path in (ROOT / folder).rglob("*.py"))


def parse_modules() -> dict[str, ast.Module]:
    """Parse all modules of the packages -> tree by the module's dotted name."""
    trees = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def find_single_call_helpers(trees: dict[str, ast.Module]) -> dict[str, int]:
    """Find private functions and methods whose name occurs once in their module, in a call -> lines by dotted name."""
    helpers = {}
    for module, tree in trees.items():
        nodes = list(ast.walk(tree))
        uses = Counter(getattr(node, "id", getattr(node, "attr", None)) for node in nodes)
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        called = {getattr(function, "id", getattr(function, "attr", None)) for function in calls}
        for node in nodes:
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.name.startswith("_")
                and not node.name.startswith("__")
                and node.name in called
                and uses[node.name] == 1
            ):
                helpers[f"{module}.{node.name}"] = node.end_lineno - node.lineno + 1
    return helpers


def find_imports(module: str, tree: ast.Module, modules: set[str]) -> set[str]:
    """Find the modules of the project that a module imports, at its top or in functions, except for type checking."""
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for statement in branch.body
        for node in ast.walk(statement)
    }
    imported = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= submodules & modules or {node.module}
            if not submodules <= modules:
                imported.add(node.module)
    return (imported & modules) - {module}


def find_circles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Find the groups of modules that import each other, directly or through others."""
    graph = {module: find_imports(module, tree, set(trees)) for module, tree in trees.items()}
    reached = {}
    for start in graph:
        reached[start], pending = set(), [start]
        while pending:
            new = graph[pending.pop()] - reached[start]
            reached[start] |= new
            pending += new
    circles = {frozenset(end for end in reached[start] if start in reached[end]) for start in graph}
    return sorted(sorted(circle) for circle in circles if circle)


def is_ours(frame: FrameType) -> bool:
    """Whether a frame executes a function of the packages; importing a module is none."""
    path = frame.f_code.co_filename
    return frame.f_code.co_name != "<module>" and path.startswith(
        tuple(f"{folder}{os.sep}" for folder in FOLDERS.values())
    )


def callers(frame: FrameType) -> Iterator[FrameType]:
    """Yield the frames of the packages that wait for a frame to return, the innermost first."""
    while frame := frame.f_back:
        if is_ours(frame):
            yield frame


def walk_page() -> tuple[list[str], set[str]]:
    """Edit the text of the page *Fill mask*, and follow the calls until the page is drawn again.

    Returns:
        The named functions that are active when the output layer computes the logits, from the first that the page's
        script calls to the output layer; and the files that are entered.
    """
    from streamlit import config
    from streamlit.testing.v1 import AppTest
    from streamlit.util import calc_hash

    from bertlab.nn.heads import MaskedTokenHead

    page = FOLDERS["bertlab_app"] / "pages" / "fill_mask.py"
    chains, files = [], {str(page)}

    def follow(frame: FrameType, event: str, _) -> None:
        if event != "call" or not is_ours(frame):
            return
        files.add(frame.f_code.co_filename)
        if frame.f_code is MaskedTokenHead.forward.__code__:
            names = [each.f_code.co_qualname for each in (frame, *callers(frame))]
            chains.append([name for name in reversed(names) if "<" not in name])

    config.set_option("server.address", "localhost")
    app = AppTest.from_file(str(ROOT / "app" / "streamlit_app.py"), default_timeout=300)
    app.query_params["text"] = "The cat [MASK] on the mat."
    app._page_hash = calc_hash("fill-mask")
    app.run()
    threading.setprofile(follow)
    app.text_input(key="text").set_value("The old dog [MASK] on the red mat.").run()
    threading.setprofile(None)
    if not chains:
        raise SystemExit("the page Fill mask computed no logits")
    return max(chains, key=len)[1:], files  # without `bertlab_app.main.run`, which runs the page's script


def walk_configuration(config_type: type, *arguments: str) -> set[str]:
    """Run a command, and follow its configuration.

    Returns:
        The files of the functions that have the configuration, or a part of it, in a variable or in an attribute of a
        variable; and the files of the functions that these call.
    """
    from bertlab.cli import main
    from bertlab.training.optimizers import OptimConfig

    files = set()

    def has_configuration(frame: FrameType) -> bool:
        values = list(frame.f_locals.values())
        objects = [value for value in values if type(value).__module__.startswith("bertlab")]
        attributes = [attribute for value in objects for attribute in getattr(value, "__dict__", {}).values()]
        return any(isinstance(value, config_type | OptimConfig) for value in values + attributes)

    def follow(frame: FrameType, event: str, _) -> None:
        if event == "call" and is_ours(frame) and frame.f_code.co_filename not in files:
            caller = next(callers(frame), None)
            if caller and has_configuration(caller):
                files.update((caller.f_code.co_filename, frame.f_code.co_filename))
            elif has_configuration(frame):
                files.add(frame.f_code.co_filename)

    sys.setprofile(follow)
    code = main(arguments)
    sys.setprofile(None)
    if code:
        raise SystemExit(f"bertlab {' '.join(arguments)} ended with exit code {code}")
    return files


def walk_training() -> dict[str, set[str]]:
    """Follow the configurations of small runs in the current directory -> files by command."""
    from bertlab.cli import main
    from bertlab.training.finetune import FinetuneConfig
    from bertlab.training.pretraining.config import PretrainConfig

    rows = [f"sentence {index}\t{index % 2}\n" for index in range(64)]
    Path("rows.tsv").write_text("sentence\tlabel\n" + "".join(rows))
    main(["prepare", "story-world", "--out", "corpus", "--documents", "100", "--vocab-size", "300"])
    finetune = ["finetune", "sst2", "--from", str(ENCODER), "--data", "rows.tsv", "--epochs", "1", "--out", "finetuned"]
    pretrain = ["pretrain", "corpus", "--validation", "corpus-heldout", "--preset", "tiny", "--steps", "2"]
    pretrain += ["--batch-size", "8", "--evaluate-rows", "8", "--out", "pretrained"]
    return {
        "finetune": walk_configuration(FinetuneConfig, *finetune),
        "pretrain": walk_configuration(PretrainConfig, *pretrain),
    }


def list_names(paths: set[str]) -> str:
    """List the paths of files relative to the repository."""
    return " ".join(sorted(str(Path(path).relative_to(ROOT)) for path in paths))


def main() -> None:
    """Print every figure beside its bound; with --list, also what was counted."""
    trees = parse_modules()
    helpers, circles = find_single_call_helpers(trees), find_circles(trees)
    with (
        tempfile.TemporaryDirectory() as directory,
        contextlib.chdir(directory),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        chain, page_files = walk_page()
        config_files = walk_training()
    rows = [
        ("lines of Python in bertlab, app and benchmarks", count_lines("bertlab", "app", "benchmarks"), 48_000, ""),
        ("lines of Python in tests", count_lines("tests"), 20_000, ""),
        ("lines of Python in bertlab/text/readers", count_lines("bertlab/text/readers"), 1_200, ""),
        ("private functions with one call", len(helpers), None, " ".join(helpers)),
        ("circles between modules", len(circles), 0, "; ".join(" ".join(circle) for circle in circles)),
        ("named calls from the page Fill mask to the logits", len(chain), 9, " > ".join(chain)),
        ("files that a run of this page enters", len(page_files), 30, list_names(page_files)),
    ]
    for command, bound in (("finetune", 18), ("pretrain", 25)):
        files = config_files[command]
        rows.append((f"files that the configuration of {command} visits", len(files), bound, list_names(files)))
    for name, figure, bound, counted in rows:
        limit = "" if bound is None else f"at most {bound:,}"
        mark = "" if bound is None or figure <= bound else "  <-- missed"
        print(f"{name:55} {figure:7,}   {limit:15}{mark}")
        if counted and "--list" in sys.argv:
            print(f"    {counted}")


if __name__ == "__main__":
    main()
