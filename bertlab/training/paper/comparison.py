"""Compare the results of a reproduced table with those of the paper."""


def compare_directions(table: dict) -> list[dict]:
    """Compare every row of `read_table` with the reference row, where the paper reports a difference between the two.

    "agrees" of a comparison is whether both differences have the same sign; None if ours is zero.
    """
    reference, comparisons = table["rows"].get(table["against"], {"cells": {}}), []
    for name, row in table["rows"].items():
        for column, cell in row["cells"].items():
            reference_cell = reference["cells"].get(column)
            if name == table["against"] or reference_cell is None or None in (cell["paper"], reference_cell["paper"]):
                continue
            our_difference = cell["mean"] - reference_cell["mean"]
            paper_difference = cell["paper"] - reference_cell["paper"]
            if round(paper_difference, 6):
                agrees = our_difference * paper_difference > 0 if round(our_difference, 6) else None
                comparisons.append(
                    {"row": name, "column": column, "ours": our_difference, "paper": paper_difference, "agrees": agrees}
                )
    return comparisons


def summarise_directions(table: dict) -> str:
    """Summarise how many differences have the same sign as in the paper, and name the others."""
    comparisons = compare_directions(table)
    if not comparisons:
        return "Nothing can be compared with the paper yet."
    num_agreeing = sum(comparison["agrees"] is True for comparison in comparisons)
    title = table["rows"][table["against"]]["title"]
    text = (
        f"Against the row “{title}”, {num_agreeing} of {len(comparisons)} differences have the paper's direction"
        if num_agreeing < len(comparisons)
        else f"Against the row “{title}”, the direction agrees with the paper's in all {len(comparisons)} comparisons"
    )
    opposite_differences = [
        f"{table['rows'][comparison['row']]['title']} on {table['columns'][comparison['column']]['title']} "
        f"({comparison['ours']:+.2f}, the paper {comparison['paper']:+.2f})"
        for comparison in comparisons
        if comparison["agrees"] is False
    ]
    text += f"; the direction is opposite for {', '.join(opposite_differences)}" if opposite_differences else ""
    num_zero = sum(comparison["agrees"] is None for comparison in comparisons)
    text += f"; {num_zero} of ours {'is' if num_zero == 1 else 'are'} zero." if num_zero else "."
    return text + (" One seed: a difference of a point or two may be chance." if table["seeds"] == 1 else "")
