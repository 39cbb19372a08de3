"""The model card: README.md of a checkpoint, written from `bertlab.json` and from nothing else.

Every figure stands beside the command that gives it. Knows no model.
"""

LINES = {
    "masked_accuracy": ("masked accuracy (15 % masks)", "{:.1%}"),
    "mlm_loss": ("loss of a masked piece, nats", "{:.3f}"),
    "bits_per_character": ("bits per character", "{:.3f}"),
    "nsp_accuracy": ("next-sentence accuracy", "{:.1%}"),
    "nsp_loss": ("next-sentence loss, nats", "{:.3f}"),
    "order_accuracy": ("sentence-order accuracy", "{:.1%}"),
    "order_loss": ("sentence-order loss, nats", "{:.3f}"),
    "exact_match": ("exact match", "{:.2f}"),
    "f1": ("F1", "{:.2f}"),
    "rouge_w": ("ROUGE-W", "{:.2f}"),
    "matthews": ("Matthews correlation x 100", "{:.2f}"),
    "pearson": ("Pearson correlation x 100", "{:.2f}"),
    "spearman": ("Spearman correlation x 100", "{:.2f}"),
    "f1_from_3": ("F1 of values of 3 and more", "{:.2f}"),
    "entity_f1": ("entity F1", "{:.2f}"),
    "entity_f1_macro": ("entity F1, mean of the types", "{:.2f}"),
    "character_f1_macro": ("character F1, mean of the tags", "{:.2f}"),
    "examples": ("rows measured", "{:,}"),
    "has_answer_exact_match": ("… exact match where there is an answer", "{:.2f}"),
    "has_answer_f1": ("… F1 where there is an answer", "{:.2f}"),
    "has_answer_rouge_w": ("… ROUGE-W where there is an answer", "{:.2f}"),
    "has_answer_total": ("… questions with an answer", "{:,}"),
    "no_answer_exact_match": ("… refused where there is none", "{:.2f}"),
    "no_answer_f1": ("… F1 where there is none", "{:.2f}"),
    "no_answer_rouge_w": ("… ROUGE-W where there is none", "{:.2f}"),
    "no_answer_total": ("… questions without an answer", "{:,}"),
    "best_exact_match": ("best exact match of any threshold", "{:.2f}"),
    "best_exact_match_threshold": ("… that threshold", "{:.2f}"),
    "best_f1": ("best F1 of any threshold", "{:.2f}"),
    "best_f1_threshold": ("… that threshold", "{:.2f}"),
    "best_rouge_w": ("best ROUGE-W of any threshold", "{:.2f}"),
    "best_rouge_w_threshold": ("… that threshold", "{:.2f}"),
    "null_threshold": ("threshold above which it says “no answer”", "{:.2f}"),
    "total": ("questions measured", "{:,}"),
    "missing": ("questions without a prediction", "{:,}"),
    "rows": ("pairs measured", "{:,}"),
    "masked_tokens": ("masked pieces measured", "{:,}"),
}


STORED = {"float8": "matrices in eight bits (float8_e4m3fn), vectors in float16; what is measured is measured on that"}
BEFORE = "{steps:,} steps, {tokens:,} tokens and {training_minutes} minutes in the runs it went on from, of {read}"


def render_card(name: str, record: dict) -> str:
    """Markdown for a checkpoint.

    Args:
        record: what `bertlab.json` holds: made_by, command, data, steps, tokens, training_minutes, hardware, seed,
            settings, validation, and what it was made from; cloze, as `cloze.examples` gives it, if it was asked.
    """
    rows = [
        ("made with", f"{record['made_by']}, `{record['command']}`"),
        ("started from", record["from"]),
        ("data", _data(record)),
        ("objectives", " + ".join(record["objectives"])),
        ("steps", f"{record['steps']:,}"),
        ("tokens read", f"{record['tokens']:,}"),
        ("training time", f"{record['training_minutes']} minutes"),
        *([("before it", BEFORE.format(**before, read=_data(before)))] if (before := record.get("before")) else []),
        ("hardware", f"{record['hardware']}, {record['precision']}"),
        ("seed", str(record["seed"])),
        ("finished", record["finished"]),
        *_exported(record),
        *([("stored as", STORED[record["stored"]])] if record.get("stored") in STORED else []),
    ]
    text = [f"# {name}", "", f"A BERT made by bertlab. {_opens(record)}", "", *_table(rows), ""]
    if record["validation"]:
        figures = []
        for key, value in record["validation"].items():
            label, form = LINES.get(key, (key.replace("_", " "), "{:.2f}" if isinstance(value, float) else "{:,}"))
            figures.append((label, form.format(value)))
        text += ["## Measured on held-out text", ""]
        text += [f"On {', '.join(record['measured_on'])}.", ""] if record.get("measured_on") else []
        text += [*_table(figures), ""]
        text += [f"The command that measures: `{record['evaluate_command']}`", ""]
    if record.get("cloze"):
        text += _clozes(record["cloze"])
    if record.get("note"):
        text += [record["note"], ""]
    settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items())
    return "\n".join([*text, f"Settings: {settings}.", ""])


def render_export_card(name: str, record: dict) -> str:
    """Markdown for what `bertlab export` made of a checkpoint whose making is not known.

    Args:
        record: pruned_from, pruned_heads and zeroed, or mean_of.
    """
    text = [f"# {name}", "", f"Written by `bertlab export`. {_opens(record)}", "", *_table(_exported(record)), ""]
    return "\n".join([*text, "Nothing has been measured on it.", ""])


def _exported(record: dict) -> list[tuple[str, str]]:
    """What `bertlab export` made of the weights."""
    rows = []
    if mean := record.get("mean_of"):
        parts = " and ".join(f"{100 * share:g} % of {name}" for name, share in mean)
        rows.append(("weights", f"the mean of {parts}"))
    if gone := record.get("pruned_heads"):
        heads = ", ".join(f"{layer}.{head}" for layer, head in gone)
        rows.append(("attention heads taken out", f"{heads} (layer.head, from 0) of {record['pruned_from']}"))
    return rows


def _data(record: dict) -> str:
    """What was read, and whose that is."""
    return ", ".join(record["data"]) + (f" ({record['attribution']})" if record.get("attribution") else "")


def _opens(record: dict) -> str:
    left_out = record.get("pruned_heads") and not record.get("zeroed")
    others = "transformers 4, which reads `pruned_heads`; transformers 5 does not" if left_out else "`transformers`"
    return f"It opens with `bertlab.load` and with {others}."


def _table(rows: list[tuple[str, str]]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows)]


def _clozes(rows: list[dict]) -> list[str]:
    """Sentences with a gap and what the model puts there, then of which kinds it had all."""
    text = ["## Asked for a masked word", "", "| | | likeliest | expected |", "|---|---|---|---|"]
    kinds: dict[str, list[bool]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row["right"])
        likeliest = ", ".join(f"`{piece}` {100 * probability:.1f} %" for piece, probability in row["guesses"][0])
        cells = ("right" if row["right"] else "wrong", row["text"], likeliest, " or ".join(row["fits"]))
        text.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    known = [f"{kind} ({len(right)} of {len(right)})" for kind, right in kinds.items() if all(right)]
    missed = [f"{kind} ({sum(right)} of {len(right)})" for kind, right in kinds.items() if not all(right)]
    text += ["", f"It gets right: {', '.join(known) or 'no kind of them wholly'}.", ""]
    return [*text, f"It gets wrong, in part or wholly: {', '.join(missed) or 'none of them'}.", ""]
