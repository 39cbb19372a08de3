"""bertviz's head, model and neuron view, each as one offline HTML page, for short texts.

bertviz loads its three libraries from a CDN, repeats the attention weights for each filter (such as A -> B, from
sentence A to sentence B) and writes them with sixteen digits. The pages made here contain the libraries, and each
weight once with three decimals. They escape the tokens, so that no token can end the script element. bertviz's own
drawing scripts are read as files, because importing bertviz would import transformers.

For long texts and for export use the attention view (`payload`, `html`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import files

import numpy as np

from bertlab.abilities.results import AttentionMap, HeadVectors
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import DEFAULT, render
from bertlab.views import assets
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.token_labels import token_labels

MAX_TOKENS = 64  # the limit of the head view and the model view
MAX_NEURON_TOKENS = 32  # the limit of the neuron view, which also contains all queries and keys
_ROOT = "bertviz"  # id of the element in which bertviz draws

# This line replaces require.js, one of the three libraries: the page has already loaded the other two.
_REQUIRE = "const require = {config() {}}; const requirejs = (names, run) => run(jQuery, d3);"

# bertviz's script needs a table of numbers for each filter. The page contains only the table of all tokens, from which
# these lines extract the other tables.
_FILTERS = """
const whole = PARAMS.attention[0];
const cut = (name, rows, columns) => ({
  name,
  attn: whole.attn.map((layer) => layer.map((head) => head.slice(...rows).map((row) => row.slice(...columns)))),
  left_text: whole.left_text.slice(...rows), right_text: whole.right_text.slice(...columns),
  queries: whole.queries?.map((layer) => layer.map((head) => head.slice(...rows))),
  keys: whole.keys?.map((layer) => layer.map((head) => head.slice(...columns))),
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
<span>{fields}<select id="filter"></select></span>
<div id="vis"></div>
</div>
<script>{jquery}</script>
<script>{d3}</script>
<script>
const PARAMS = {params};
window.bertviz_params = PARAMS;
PARAMS.display_mode ??= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
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
    params = {"layer": min(max(layer, 0), len(attention.probs_LNTT) - 1), "heads": None}
    return _write_page("head_view.js", attention, params, ("layer",), lang)


def model_view_html(attention: AttentionMap, *, lang: str = DEFAULT) -> str:
    """Write bertviz's model view of an attention map, all layers and heads at once, as an offline page.

    Args:
        attention: the attention map.
        lang: language of the page.

    Raises:
        TextError: there are more than `MAX_TOKENS` tokens.
        BertlabError: the installed bertviz has no drawing script.
    """
    num_heads = attention.probs_LNTT.shape[1]
    params = {"include_heads": list(range(num_heads)), "total_heads": num_heads}
    return _write_page("model_view.js", attention, params, (), lang)


def neuron_view_html(vectors: HeadVectors, *, layer: int = 0, head: int = 0, lang: str = DEFAULT) -> str:
    """Write bertviz's neuron view, from queries and keys to the attention of one token, as an offline page.

    Args:
        vectors: from `Session.head_vectors`.
        layer: the layer that is shown initially.
        head: the head that is shown initially.
        lang: language of the page.

    Raises:
        TextError: there are more than `MAX_NEURON_TOKENS` tokens.
        BertlabError: the installed bertviz has no drawing script.
    """
    layers, heads = vectors.queries_LNTD.shape[:2]
    params = {"bidirectional": True, "layer": min(max(layer, 0), layers - 1), "head": min(max(head, 0), heads - 1)}
    attention = AttentionMap(vectors.tokens, vectors.probs_LNTT)
    tables = {"queries": vectors.queries_LNTD, "keys": vectors.keys_LNTD}
    return _write_page("neuron_view.js", attention, params, ("layer", "att_head"), lang, tables, MAX_NEURON_TOKENS)


@dataclass(frozen=True)
class NotebookFrame:
    """A page of bertviz that a notebook shows as the result of a cell."""

    page: str
    """The HTML of `head_view_html`, `model_view_html` or `neuron_view_html`."""
    height: int = 640
    """The height of the page in pixels."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.page)}" style="border: 0" width="100%" height="{self.height}"></iframe>'


def _write_page(
    script: str,
    attention: AttentionMap,
    params: dict,
    select_ids: Sequence[str],
    lang: str,
    tables: Mapping[str, np.ndarray] | None = None,
    limit: int = MAX_TOKENS,
) -> str:
    """Write the page of one view.

    Args:
        script: the name of the view's drawing script in the package bertviz.
        attention: the attention map.
        params: the parameters of this view.
        select_ids: the ids of the `<select>` elements that the script fills: "layer", "att_head".
        lang: language of the page.
        tables: further arrays of the view, by name; their third dimension is the token.
        limit: the maximum number of tokens.
    """
    size = len(attention.tokens)
    if size > limit:
        raise TextError("bertviz-text-too-long", tokens=size, limit=limit)
    tokens = token_labels(attention.tokens)
    table = {
        "name": render("figure-all", lang),
        "attn": attention.probs_LNTT.astype(float).round(3).tolist(),
        "left_text": tokens,
        "right_text": tokens,
    }
    table |= {name: array.astype(float).round(3).tolist() for name, array in (tables or {}).items()}
    params = {
        "attention": [table],
        "default_filter": "0",
        "root_div_id": _ROOT,
        "include_layers": list(range(len(attention.probs_LNTT))),
        "startOfB": next((row.position for row in attention.tokens if row.segment == 1), None),
        **params,
    }
    message_ids = {"layer": "figure-layer", "att_head": "figure-head"}
    fields = "".join(f'{escape(render(message_ids[id], lang))}: <select id="{id}"></select> ' for id in select_ids)
    return _PAGE.format(
        **PALETTE["themes"],
        shade=transparent(PALETTE["grey"], 0.35),
        lang=lang,
        fields=fields,
        root=_ROOT,
        jquery=assets.read_static("vendor/jquery.slim.min.js"),
        d3=assets.read_static("vendor/d3.min.js"),
        params=_to_script_json(params),
        filters=_FILTERS,
        require=_REQUIRE,
        view=_read_script(script).replace("PYTHON_PARAMS", "PARAMS"),
    )


def _to_script_json(value) -> str:
    """Write a value as JSON that is safe inside a script element, whatever its strings contain."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _read_script(name: str) -> str:
    """Read a drawing script of the installed package bertviz."""
    scripts = [path for path in files("bertviz") or () if path.parts == ("bertviz", name)]
    if not scripts:
        raise BertlabError("bertviz-incomplete", name=name)
    return scripts[0].read_text(encoding="utf-8")
