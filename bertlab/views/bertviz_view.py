"""bertviz's head view as one offline HTML page, for short texts.

bertviz loads its three libraries from a CDN, repeats the attention weights for each pair of sentences and writes them
with sixteen digits. This page contains the libraries and each weight once, with three decimals, and escapes the tokens,
so that no token can end the script element. bertviz's own drawing script is read as a file, because importing bertviz
would import transformers.

For long texts and for export use the attention view (`payload`, `html`).
"""

import json
from html import escape
from importlib.metadata import files

from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import DEFAULT, render
from bertlab.explore.facts import AttentionMap
from bertlab.views import assets
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.token_labels import token_labels

MAX_TOKENS = 64
_ROOT = "bertviz"

# Replaces require.js: the two libraries that the script requires are already loaded.
_REQUIRE = "const require = {config() {}}; const requirejs = (names, run) => run(jQuery, d3);"

# bertviz's script needs a table of numbers for each filter. The page contains only the table of all tokens, from which
# these lines extract the other tables.
_FILTERS = """
const whole = PARAMS.attention[0];
const cut = (name, rows, columns) => ({
  name,
  attn: whole.attn.map((layer) => layer.map((head) => head.slice(...rows).map((row) => row.slice(...columns)))),
  left_text: whole.left_text.slice(...rows), right_text: whole.right_text.slice(...columns),
});
if (PARAMS.startOfB) {
  const a = [0, PARAMS.startOfB], b = [PARAMS.startOfB];
  PARAMS.attention.push(cut("A -> A", a, a), cut("B -> B", b, b), cut("A -> B", a, b), cut("B -> A", b, a));
}
const filter = document.getElementById("filter");
filter.hidden = PARAMS.attention.length === 1;
PARAMS.attention.forEach((table, i) => filter.add(new Option(table.name, i)));
"""

_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>bertviz</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 12px; font-family: system-ui, sans-serif; background: {light[ground]}; color: {light[ink]}; }}
svg text {{ fill: {light[ink]}; }}
select {{ font: inherit; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: {dark[ground]}; color: {dark[ink]}; }}
  svg text {{ fill: {dark[ink]}; }}
  svg rect.background {{ fill: {shade}; }}
  /* thousands of nearly transparent lines would darken a dark background; blended as a group they do not */
  #attention {{ mix-blend-mode: screen; }}
}}
</style>
</head>
<body>
<div id="{root}">
<span>{layer_name}: <select id="layer"></select> <select id="filter"></select></span>
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


def head_view_html(attention: AttentionMap, *, layer: int = 0, lang: str = DEFAULT) -> str:
    """Write bertviz's head view of an attention map as an offline page.

    Args:
        attention: the attention map.
        layer: the layer that is shown initially.
        lang: language of the page.

    Raises:
        TextError: there are more than `MAX_TOKENS` tokens, so the page would take seconds to react.
        BertlabError: the installed bertviz has no drawing script.
    """
    size = len(attention.tokens)
    if size > MAX_TOKENS:
        raise TextError("bertviz-text-too-long", tokens=size, limit=MAX_TOKENS)
    tokens = token_labels(attention.tokens)
    start_of_b = next((row.position for row in attention.tokens if row.segment == 1), None)
    table = {
        "name": render("figure-all", lang),
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
        "startOfB": start_of_b,
    }
    return _PAGE.format(
        **PALETTE["themes"],
        shade=transparent(PALETTE["grey"], 0.35),
        lang=lang,
        layer_name=escape(render("figure-layer", lang)),
        root=_ROOT,
        jquery=assets.read_static("vendor/jquery.slim.min.js"),
        d3=assets.read_static("vendor/d3.min.js"),
        params=_to_script_json(params),
        filters=_FILTERS,
        require=_REQUIRE,
        view=_read_head_view_script().replace("PYTHON_PARAMS", "PARAMS"),
    )


def _to_script_json(value) -> str:
    """Write a value as JSON that is safe inside a script element, whatever its strings contain."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _read_head_view_script() -> str:
    scripts = [path for path in files("bertviz") or () if path.parts == ("bertviz", "head_view.js")]
    if not scripts:
        raise BertlabError("bertviz-incomplete")
    return scripts[0].read_text(encoding="utf-8")
