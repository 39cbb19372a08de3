"""Render the model card (README.md) of a checkpoint from the content of `bertlab.json`."""

from collections.abc import Mapping

# Metric -> (label, number format). A label that begins with "…" gives a detail of an earlier row.
METRICS = {
    "masked_accuracy": ("masked-token accuracy (15 % masks)", "{:.1%}"),
    "mlm_loss": ("masked-token loss, nats", "{:.3f}"),
    "bits_per_character": ("pseudo bits per character", "{:.3f}"),
    "nsp_accuracy": ("next-sentence accuracy", "{:.1%}"),
    "nsp_loss": ("next-sentence loss, nats", "{:.3f}"),
    "everyday_first": ("a word that fits is the most probable", "{:.1f} %"),
    "everyday_among_five": ("a word that fits is among the five most probable", "{:.1f} %"),
    "order_accuracy": ("sentence-order accuracy", "{:.1%}"),
    "order_loss": ("sentence-order loss, nats", "{:.3f}"),
    "replaced_accuracy": ("replaced-token accuracy", "{:.1%}"),
    "replaced_precision": ("… precision of “replaced”", "{:.1%}"),
    "replaced_recall": ("… recall of “replaced”", "{:.1%}"),
    "replaced_share": ("share of tokens that are replaced", "{:.1%}"),
    "replaced_predicted_share": ("share of tokens predicted to be replaced", "{:.1%}"),
    "replaced_found_share": ("share of tokens that are replaced and predicted to be replaced", "{:.1%}"),
    "replaced_loss": ("replaced-token loss, nats", "{:.3f}"),
    "replaced_weighted_loss": ("replaced-token loss times its weight in the total loss", "{:.3f}"),
    "exact_match": ("exact match", "{:.2f}"),
    "f1": ("F1", "{:.2f}"),
    "rouge_w": ("ROUGE-W", "{:.2f}"),
    "matthews": ("Matthews correlation x 100", "{:.2f}"),
    "pearson": ("Pearson correlation x 100", "{:.2f}"),
    "spearman": ("Spearman correlation x 100", "{:.2f}"),
    "retrieval_accuracy": ("retrieval accuracy", "{:.2f} %"),
    "r_precision": ("R-precision: share of the R reference sentences among the R with the largest scores", "{:.2f} %"),
    "first_r_precision": ("share of the R reference sentences among the first R of the text", "{:.2f} %"),
    "rouge1": ("ROUGE-1 (F1) of three sentences", "{:.2f}"),
    "rouge2": ("ROUGE-2 (F1)", "{:.2f}"),
    "rougeL": ("ROUGE-L (F1)", "{:.2f}"),
    "first_rouge1": ("ROUGE-1 of the first three sentences", "{:.2f}"),
    "first_rouge2": ("ROUGE-2 of the first three sentences", "{:.2f}"),
    "first_rougeL": ("ROUGE-L of the first three sentences", "{:.2f}"),
    "f1_from_3": ("F1 for the class “similarity of at least 3”", "{:.2f}"),
    "entity_f1": ("entity F1", "{:.2f}"),
    "entity_f1_macro": ("entity F1, mean over entity types", "{:.2f}"),
    "character_f1_macro": ("character F1, mean over tags", "{:.2f}"),
    "examples": ("examples evaluated", "{:,}"),
    "has_answer_exact_match": ("… exact match where there is an answer", "{:.2f}"),
    "has_answer_f1": ("… F1 where there is an answer", "{:.2f}"),
    "has_answer_rouge_w": ("… ROUGE-W where there is an answer", "{:.2f}"),
    "has_answer_total": ("… questions with an answer", "{:,}"),
    "no_answer_exact_match": ("… exact match where there is no answer", "{:.2f}"),
    "no_answer_f1": ("… F1 where there is no answer", "{:.2f}"),
    "no_answer_rouge_w": ("… ROUGE-W where there is no answer", "{:.2f}"),
    "no_answer_total": ("… questions without an answer", "{:,}"),
    "best_exact_match": ("best exact match over all thresholds", "{:.2f}"),
    "best_exact_match_threshold": ("… at threshold", "{:.2f}"),
    "best_f1": ("best F1 over all thresholds", "{:.2f}"),
    "best_f1_threshold": ("… at threshold", "{:.2f}"),
    "best_rouge_w": ("best ROUGE-W over all thresholds", "{:.2f}"),
    "best_rouge_w_threshold": ("… at threshold", "{:.2f}"),
    "null_threshold": ("threshold above which the prediction is “no answer”", "{:.2f}"),
    "total": ("questions evaluated", "{:,}"),
    "missing": ("questions without a prediction", "{:,}"),
    "rows": ("pairs evaluated", "{:,}"),
    "masked_tokens": ("masked tokens evaluated", "{:,}"),
}

# Value of the key "stored" of a record -> how the weights are stored.
STORAGE = {
    "float8": "matrices in eight bits (float8_e4m3fn), vectors in float16; evaluated as stored",
    "int8": "matrices in eight bits (int8, one scale for each row); activations are quantised dynamically",
}
# The text in the row "earlier training" of the card.
EARLIER_TRAINING = "{steps:,} steps, {tokens:,} tokens and {training_minutes} minutes, on {data}"


def render_card(name: str, record: dict) -> str:
    """Render the model card of a checkpoint that bertlab trained; `record` is the content of `bertlab.json`."""
    rows = [
        ("made with", f"{record['made_by']}, `{record['command']}`"),
        ("started from", record["from"]),
        ("data", _format_data(record)),
        ("objectives", " + ".join(record["objectives"])),
        ("steps", f"{record['steps']:,}"),
        ("tokens read", f"{record['tokens']:,}"),
        ("training time", f"{record['training_minutes']} minutes"),
    ]
    if steps := record.get("lengthened_after"):  # after each of them, the learning rate rose again
        rows.append(("lengthened", f"after step {', '.join(f'{step:,}' for step in steps)}"))
    if before := record.get("before"):
        values = {key: before[key] for key in ("steps", "tokens", "training_minutes")}
        rows.append(("earlier training", EARLIER_TRAINING.format(**values, data=_format_data(before))))
    rows += [
        ("hardware", f"{record['hardware']}, {record['precision']}"),
        ("seed", str(record["seed"])),
        ("finished", record["finished"]),
        *_list_export_changes(record),
        *([("stored as", STORAGE[record["stored"]])] if record.get("stored") in STORAGE else []),
    ]
    text = [
        f"# {name}",
        "",
        f"A BERT trained with bertlab. {_describe_compatibility(record)}",
        "",
        *_format_table(rows),
        "",
    ]
    if record["validation"]:
        text += ["## Evaluation on held-out data", ""]
        text += [f"On {', '.join(record['measured_on'])}.", ""] if record.get("measured_on") else []
        text += [*_format_metrics(record["validation"]), ""]
        text += [f"Command: `{record['evaluate_command']}`", ""]
    for task, evaluation in record.get("other_tasks", {}).items():
        text += [f"## Evaluation on another task: {task}", "", f"On {evaluation['measured_on']}.", ""]
        text += [*_format_metrics(evaluation["metrics"]), ""]
        text += [f"Command: `bertlab evaluate {task} --checkpoint CHECKPOINT --data VALIDATION`", ""]
    if record.get("everyday"):
        text += ["## Everyday sentences with a mask", "", *_format_metrics(record["everyday"]), ""]
        text += ["Command: `bertlab evaluate everyday --checkpoint CHECKPOINT --split test`", ""]
    if record.get("cloze"):
        text += _format_cloze_results(record["cloze"])
    if record.get("note"):
        text += [record["note"], ""]
    settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items())
    return "\n".join([*text, f"Settings: {settings}.", ""])


def _format_metrics(metrics: Mapping[str, float]) -> list[str]:
    rows = []
    for key, value in metrics.items():
        label, number_format = METRICS.get(
            key, (key.replace("_", " "), "{:.2f}" if isinstance(value, float) else "{:,}")
        )
        if key.startswith("among_five_"):  # of one kind of everyday sentences
            label, number_format = f"… {key.removeprefix('among_five_')}", "{:.1f} %"
        rows.append((label, number_format.format(value)))
    return _format_table(rows)


def render_export_card(name: str, record: dict) -> str:
    """Render the model card of a checkpoint that `bertlab export` made from one without a training record."""
    text = [
        f"# {name}",
        "",
        f"Written by `bertlab export`. {_describe_compatibility(record)}",
        "",
        *_format_table(_list_export_changes(record)),
        "",
    ]
    return "\n".join([*text, "Not evaluated.", ""])


def render_compression_card(name: str, record: dict) -> str:
    """Render the model card of a checkpoint that `bertlab compress` wrote.

    Args:
        record: the keys compressed_from, compression, stored and format.
    """
    changes = dict(record["compression"])
    rows = [
        ("compressed from", record["compressed_from"]),
        ("weights", STORAGE.get(record["stored"], record["stored"])),
    ]
    if pruned := changes.pop("pruned_heads", None):
        heads = ", ".join(f"{layer}.{head}" for layer, head in pruned)
        rows.append(("pruned attention heads", f"{heads} (layer.head, from 0)"))
    rows += [(key.replace("_", " "), str(value)) for key, value in changes.items()]
    record_with_heads = {**record, "pruned_heads": pruned}
    text = [f"# {name}", "", f"Written by `bertlab compress`. {_describe_compatibility(record_with_heads)}", ""]
    if record.get("attribution"):
        rows.append(("data", _format_data({"data": record.get("data", []), "attribution": record["attribution"]})))
    return "\n".join([*text, *_format_table(rows), "", "Evaluate it with `bertlab evaluate`.", ""])


def _list_export_changes(record: dict) -> list[tuple[str, str]]:
    rows = []
    if mean := record.get("mean_of"):
        parts = " and ".join(f"{100 * share:g} % of {name}" for name, share in mean)
        rows.append(("weights", f"average of {parts}"))
    if pruned := record.get("pruned_heads"):
        heads = ", ".join(f"{layer}.{head}" for layer, head in pruned)
        rows.append(("pruned attention heads", f"{heads} (layer.head, from 0) of {record['pruned_from']}"))
    return rows


def _format_data(record: dict) -> str:
    return ", ".join(record["data"]) + (f" ({record['attribution']})" if record.get("attribution") else "")


def _describe_compatibility(record: dict) -> str:
    if record.get("format") == "onnx":
        return "It is an ONNX file: it opens with `bertlab.load` for predictions, and with ONNX Runtime."
    has_removed_heads = record.get("pruned_heads") and not record.get("zeroed")
    library = "`transformers`"
    if has_removed_heads:
        library = "transformers 4, which reads `pruned_heads`; transformers 5 does not"
    return f"It opens with `bertlab.load` and with {library}."


def _format_table(rows: list[tuple[str, str]]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows)]


def _format_cloze_results(rows: list[dict]) -> list[str]:
    text = ["## Masked-word examples", "", "| | | prediction | expected |", "|---|---|---|---|"]
    correct_by_kind: dict[str, list[bool]] = {}
    for row in rows:
        correct_by_kind.setdefault(row["kind"], []).append(row["right"])
        predictions = ", ".join(f"`{token}` {100 * probability:.1f} %" for token, probability in row["guesses"][0])
        cells = ("correct" if row["right"] else "wrong", row["text"], predictions, " or ".join(row["fits"]))
        # chr(92) is a backslash, which Python 3.11 does not allow in the braces of an f-string.
        text.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    descriptions = {kind: f"{kind} ({sum(correct)} of {len(correct)})" for kind, correct in correct_by_kind.items()}
    without_errors = [descriptions[kind] for kind, correct in correct_by_kind.items() if all(correct)]
    with_errors = [descriptions[kind] for kind, correct in correct_by_kind.items() if not all(correct)]
    text += ["", f"All correct: {', '.join(without_errors) or 'no kind'}.", ""]
    return [*text, f"With errors: {', '.join(with_errors) or 'no kind'}.", ""]
