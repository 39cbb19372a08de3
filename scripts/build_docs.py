"""Build the site in `site/`: `docs`, and the lessons, benchmarks and changelog that stand outside of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"BENCHMARKS.md": "benchmarks.md", "CHANGELOG.md": "changelog.md", "ARCHITECTURE.md": "architecture.md"}
LESSON_TITLES = {"en": "Lessons", "ko": "실습"}


def copy_sources(folder: Path) -> None:
    """Copy every page to one folder, with links as they are there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for source, page in PAGES.items():
        shutil.copy(ROOT / source, folder / page)
    for language, title in LESSON_TITLES.items():
        lessons = sorted((ROOT / "notebooks" / language).glob("[0-9]*.ipynb"))
        target = folder / "lessons" / language
        target.mkdir(parents=True)
        rows = []
        for path in lessons:
            text = path.read_text(encoding="utf-8")
            heading = "".join(json.loads(text)["cells"][1]["source"]).splitlines()[0].lstrip("# ")
            rows.append(f"- [{heading}]({language}/{path.name})")
            notebook = json.loads(text)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":  # links to files of the repository lead nowhere on the site
                    source = re.sub(r"\[([^\]]+)\]\((?!https?:|#|attachment:)[^)]*\)", r"\1", "".join(cell["source"]))
                    cell["source"] = source
            (target / path.name).write_text(json.dumps(notebook), encoding="utf-8")
        index = "index.md" if language == "en" else f"index.{language}.md"
        (folder / "lessons" / index).write_text(f"# {title}\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for path in folder.rglob("*.md"):
        up = "../" * (len(path.relative_to(folder).parts) - 1)
        text = path.read_text(encoding="utf-8")
        for source, page in PAGES.items():
            text = re.sub(rf"\]\((?:\.\./)*{source}\)", f"]({up}{page})", text)
        text = re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)
        text = re.sub(
            r"\[([^\]]+)\]\((?:\.\./)*(?:README|CONTRIBUTING|assets|deploy|bertlab|scripts)[^)]*\)", r"\1", text
        )
        path.write_text(text, encoding="utf-8")


def replace_shim(site: Path) -> None:
    """Let the search of the built files use our own script instead of one from the network."""
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/frame-worker.js"), "utf-8")


copy_sources(ROOT / "build" / "docs")
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # ruff formats the signatures
subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"], cwd=ROOT, check=True)
replace_shim(ROOT / "site")
