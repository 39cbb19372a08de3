"""bertviz's head view, the picture many readers know, as one HTML page that needs no network; for short inputs.

bertviz loads its three libraries from a CDN, repeats the numbers for each pair of sentences and writes them with
sixteen digits. Here the libraries lie inside the page, the numbers are written once with three decimals, and nothing
in a token can end the script. Its drawing script is used as it is installed, read as a file: importing bertviz would
import transformers.

Knows nothing of models; the project's own view (payload.py) is the one for long inputs and for export.
"""

import json
from importlib.metadata import files

from bertlab.config.errors import TextError
from bertlab.explore.facts import AttentionMap
from bertlab.views import assets
from bertlab.views.pieces import piece_labels

MAX_TOKENS = 64
_ROOT = "bertviz"

# Stands in for require.js: the two libraries that the script asks for are already there.
_REQUIRE = "const require = {config() {}}; const requirejs = (names, run) => run(jQuery, d3);"

# The script reads one table of numbers per filter. Expanding the filters here, from the one table, keeps them out
# of the page.
_FILTERS = """
const whole = PARAMS.attention[0];
const cut = (name, rows, columns) => ({
  name,
  attn: whole.attn.map((layer) => layer.map((head) => head.slice(...rows).map((row) => row.slice(...columns)))),
  left_text: whole.left_text.slice(...rows), right_text: whole.right_text.slice(...columns),
});
if (PARAMS.second) {
  const a = [0, PARAMS.second], b = [PARAMS.second];
  PARAMS.attention.push(cut("A -> A", a, a), cut("B -> B", b, b), cut("A -> B", a, b), cut("B -> A", b, a));
}
const filter = document.getElementById("filter");
filter.hidden = PARAMS.attention.length === 1;
PARAMS.attention.forEach((table, i) => filter.add(new Option(table.name, i)));
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>bertviz</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 12px; font-family: system-ui, sans-serif; background: #fdfcfa; color: #20262d; }}
svg text {{ fill: #1f2430; }}
select {{ font: inherit; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #15181d; color: #e8e9ec; }}
  svg text {{ fill: #e6e9ef; }}
  svg rect.background {{ fill: #3a4150; }}
  /* thousands of nearly transparent lines would darken a dark ground; a group of their own does not */
  #attention {{ mix-blend-mode: screen; }}
}}
</style>
</head>
<body>
<div id="{root}">
<span>Layer: <select id="layer"></select> <select id="filter"></select></span>
<div id="vis"></div>
</div>
<script>{jquery}</script>
<script>{d3}</script>
<script>
const PARAMS = {params};
{filters}
{require}
{view}
</script>
</body>
</html>
"""


def head_view_html(attention: AttentionMap, *, layer: int = 0) -> str:
    """bertviz's head view of a map as an offline page, opened at `layer`.

    Raises TextError when the input has more than MAX_TOKENS tokens: the page then takes seconds for every move of the
    pointer.
    """
    size = len(attention.tokens)
    if size > MAX_TOKENS:
        raise TextError(
            f"{size} tokens are too many for bertviz's view (at most {MAX_TOKENS}); use the attention view."
        )
    tokens = piece_labels(attention.tokens)
    second = next((row.position for row in attention.tokens if row.segment == 1), None)
    table = {
        "name": "All",
        "attn": attention.probs_LNTT.astype(float).round(3).tolist(),
        "left_text": tokens,
        "right_text": tokens,
    }
    params = {
        "attention": [table],
        "default_filter": "0",
        "root_div_id": _ROOT,
        "layer": min(max(layer, 0), len(attention.probs_LNTT) - 1),
        "heads": None,
        "include_layers": list(range(len(attention.probs_LNTT))),
        "second": second,
    }
    return _PAGE.format(
        root=_ROOT,
        jquery=assets.static("vendor/jquery.slim.min.js"),
        d3=assets.static("vendor/d3.min.js"),
        params=_inline(params),
        filters=_FILTERS,
        require=_REQUIRE,
        view=_head_view_script().replace("PYTHON_PARAMS", "PARAMS"),
    )


def _inline(value) -> str:
    """JSON that can stand inside a script element whatever the strings in it say."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _head_view_script() -> str:
    found = [path for path in files("bertviz") or () if path.parts == ("bertviz", "head_view.js")]
    if not found:
        raise ModuleNotFoundError("bertviz is installed without its head_view.js; install bertviz 1.4 or newer")
    return found[0].read_text(encoding="utf-8")
