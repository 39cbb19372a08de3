"""The recipes of CONTRIBUTING.md: what they add to which file, and the commands that they print."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

EDIT = re.compile(
    r"^In `(?P<file>[^`]+)`, (?:(?P<place>above|below|instead of) `(?P<line>[^`\n]+)`|at the end|a new file):\n\n"
    r"```\w*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    """One section of CONTRIBUTING.md."""

    text: str

    def apply(self, repository: Path) -> set[str]:
        """Change the files of a repository as the recipe says, and return their names."""
        edits = list(EDIT.finditer(self.text))
        for edit in edits:
            path = repository / edit["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
            if edit["place"] is None:
                start = end = len(lines)
            else:
                (start,) = (n for n, line in enumerate(lines) if line.strip() == edit["line"])
                start += edit["place"] == "below"
                end = start + (edit["place"] == "instead of")
            lines[start:end] = ["\n\n" if lines and edit["place"] is None else "", edit["text"]]
            path.write_text("".join(lines), encoding="utf-8")
        return {edit["file"] for edit in edits}

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command, without `bertlab`."""
        return [shlex.split(line)[1:] for block in SHELL.findall(self.text) for line in block.splitlines()]


def read_recipes() -> dict[str, Recipe]:
    """Return {title: recipe}."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = text.partition("\n## Recipes\n")[2].partition("\n## ")[0].split("\n### ")[1:]
    return {title: Recipe(body) for title, _, body in (section.partition("\n") for section in sections)}
