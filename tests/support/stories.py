"""Stories and questions that a tiny model can learn, and the settings of a run that learns them."""

import json
from pathlib import Path

import numpy as np

from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig

WHO = ["the baker", "the pilot", "a painter", "the gardener", "our neighbour", "the old sailor"]
DID = ["watered", "painted", "sold", "carried", "found", "repaired"]
WHAT = ["the fence", "two lemons", "a small boat", "the blue door", "an umbrella", "the radio"]


def story(rng: np.random.Generator) -> str:
    """A text that a tiny model can learn: each person always does the same thing, such as "the baker watered"."""
    lines = []
    for _ in range(rng.integers(6, 20)):
        who = int(rng.integers(len(WHO)))
        lines.append(f"In the morning {WHO[who]} {DID[who]} {WHAT[rng.integers(len(WHAT))]}. It was a good day.")
    return "\n".join(lines)


def stories(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [story(rng) for _ in range(count)]


def settings(corpus: Path, out: Path, **changes) -> PretrainConfig:
    """A run of one small layer; a run that continues a checkpoint has the sizes of the checkpoint."""
    sizes = {} if "from_" in changes else {"preset": "tiny", "layers": 1, "hidden": 32, "attention_heads": 2}
    defaults = {
        "steps": 12, "batch_size": 4, "max_tokens": 32, "precision": "float32", "device": "cpu", "threads": 1,
        "optim": OptimConfig(lr=1e-3), "snapshots": False, "save_minutes": 0.0, "evaluate_rows": 64,
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, **(sizes | defaults | changes))


def losses(out: Path) -> list[float]:
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def squad_file(path: Path, rows: int) -> Path:
    rng = np.random.default_rng(4)
    examples = []
    for i in range(rows):
        who, what = int(rng.integers(len(WHO))), WHAT[rng.integers(len(WHAT))]
        context = f"It was a good day. In the morning {WHO[who]} {DID[who]} {what}."
        answers = {"text": [what], "answer_start": [context.index(what)]}
        question = f"What was it that {WHO[who]} {DID[who]}?"
        examples.append({"id": str(i), "title": "", "context": context, "question": question, "answers": answers})
    articles = [{"title": "", "paragraphs": [{"context": r["context"], "qas": [_qa(r)]}]} for r in examples]
    path.write_text(json.dumps({"version": "1.1", "data": articles}))
    return path


def question_row(number: int) -> dict:
    """A row in SQuAD's format; the passage contains the answer to the question."""
    rng = np.random.default_rng(number)
    who, did, what = WHO[rng.integers(6)], DID[rng.integers(6)], WHAT[rng.integers(6)]
    context = f"It was a good day. In the morning {who} {did} {what}. The keeper of the mill slept."
    return {
        "id": str(number), "title": "", "context": context, "question": f"What was it that {who} {did}?",
        "answers": {"text": [what], "answer_start": [context.index(what)]},
    }  # fmt: skip


def _qa(row: dict) -> dict:
    texts, starts = row["answers"]["text"], row["answers"]["answer_start"]
    answers = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    return {"id": row["id"], "question": row["question"], "answers": answers}
