"""The JSON object of each command's result, the same for `--json` and for `bertlab serve`."""

from bertlab.abilities.results import as_json


def describe_result(command: str, result: object) -> dict:
    """Return the fields of a result for `json.dumps`, without the name of the checkpoint.

    Args:
        command: the command that made the result, such as "fill-mask".
        result: what the method of `Predictor` for this command, such as `fill_mask`, returns.
    """
    match command:
        case "fill-mask":
            return as_json({"masks": result})
        case "choose":
            return as_json({"choices": result})
        case "next-sentence":
            # "asked" is the old name of "objective"; `as_json` adds the field under its new name
            return {"label": result.label, "asked": result.asked} | as_json(result)
        case "pretraining-example":
            row = as_json(result)
            # the old names of some fields, which scripts may still read
            row["draw"], row["losses"]["draw"] = result.draw, result.draw
            for token in (*row["tokens"], *row["predictions"]):
                token["fate"], token["read"] = token["replacement_kind"], token["input_token"]
            return row
        case "answer":
            return {"text": result.text} | as_json(result)
        case "classify":
            return ({} if result.best is None else {"label": result.best.label}) | as_json(result)
    return as_json(result)
