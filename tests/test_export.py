"""The saved files of the figures: the Python code draws the same figure, and the columns hold the drawn values."""

import base64
import json
import math
import re

import numpy as np
import pytest
from bertlab_app import calls
from bertlab_app.data import sessions
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import SCREENS, open_page

from bertlab.views import export, figures, html, payload

HOSTILE = {name: "The 'old' \"mill\" \\ {x} stood." for name in ("a", "text", "first", "question")}
TYPED = ("answer", "attention", "compare", "fill_mask", "heads", "logit_lens", "next_sentence", "start", "xray")
WITHOUT_CHART = {"start-arcs", "wordpiece-search", "wordpiece-merges"}  # drawn as SVG or HTML


@pytest.mark.parametrize(
    ("screen", "typed"), [*((screen, {}) for screen in SCREENS), *((screen, HOSTILE) for screen in TYPED)]
)
def test_code_of_every_figure_draws_the_figure_of_the_page(shipped, monkeypatch, tmp_path, screen, typed):
    monkeypatch.chdir(tmp_path)  # some of the code writes a file
    app = open_page(screen, **typed)
    menus, charts = saved_figures(app), read_charts(app)
    assert len(menus) >= len(charts), "a figure without a save menu: draw it with plots.draw"
    for menu in menus:
        assert len({len(values) for values in (menu["columns"] or {}).values()}) <= 1, f"{menu['name']}: uneven columns"
    menus = [menu for menu in menus if menu["name"] not in WITHOUT_CHART]
    for menu, chart in zip(menus, charts, strict=True):
        assert menu["code"], f"{menu['name']}: draw it with plots.draw"
        assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart), (
            menu["name"]
        )


FIGURES = {
    "xray": {"heads": {"layer", "head", "share"}, "windows": {"window", "score", "no_answer_score"}},
    "logit_lens": {"lens": {"layer", "position", "token", "prediction", "probability"}, "rank": {"final_rank"}},
    "compare": {
        "heads": {"layer", "head", "js_distance"}, "head": {"query", "key", "difference"},
        "drift": {"layer", "linear_cka"}, "moved-most": {"first", "second", "cosine_distance"},
    },
    "heads": {"before-after": {"label", "before", "after"}},
    "fill_mask": {"mask-0": {"token", "probability"}},
    "answer": {"curves": {"word", "start", "end"}},
}  # fmt: skip


@pytest.mark.parametrize("screen", FIGURES)
def test_saved_data_has_named_columns_the_text_and_the_checkpoint(shipped, screen):
    menus = {menu["name"].split("-", 1)[1]: menu for menu in saved_figures(open_page(screen, mask="2"))}
    for name, columns in FIGURES[screen].items():
        menu = next(menu for key, menu in menus.items() if key.endswith(name))
        assert columns <= menu["columns"].keys(), name
        assert menu["subject"]["checkpoint"], name
        assert menu["subject"]["text"], name


def test_tidy_columns_are_json():
    rows = {"a": [np.float32(0.1), float("nan"), None], "b": ["\ud800", 3, True], "c": [np.int64(4), 1e-9, 2 / 3]}
    assert json.dumps(export.tidy(rows)) == ('{"a": [0.1, null, null], "b": ["?", 3, true], "c": [4, 1e-09, 0.666667]}')


def test_lines_put_imports_first():
    code = export.python_lines("", ["from math import pi", "figure = figures.nsp_gauge(pi)"])
    assert code.splitlines()[:3] == ["from bertlab.views import figures", "from math import pi", ""]
    assert "bertlab.load" not in code


CANVASES = [
    ("attention", {}),
    ("attention", {"look": "neuron"}),
    ("attention", {"a": "The 'old' \\ mill"}),
    ("time_machine", {}),
]


@pytest.mark.parametrize(("screen", "parameters"), CANVASES)
def test_code_of_a_canvas_view_computes_the_values_of_the_page(
    shipped, shipped_runs, monkeypatch, tmp_path, screen, parameters
):
    app = open_page(screen, **parameters)
    packed = [element.proto for element in app.get("bidi_component") if element.proto.WhichOneof("data") == "bytes"]
    header, blocks = payload.unpack(packed[0].bytes)
    # the browser replaces STATE by the state of the view
    state = {"view": "matrix", "layer": 1, "head": 1, "heads": None, "hide": True, "token": 1}
    code = header["options"]["code"].replace("STATE", repr(state), 1)
    monkeypatch.chdir(tmp_path)
    if "figure.show()" in code:
        assert len(draw_from_code(code, monkeypatch).data) in (1, 2)
    else:
        exec(compile(code, "page.py", "exec"), {"__name__": "__main__"})
    (page,) = tmp_path.glob("*.html")
    markup = page.read_text(encoding="utf-8")
    assert "<canvas" not in markup.split("<script")[0]
    data = re.search(r'id="payload">([^<]*)<', markup)[1]
    written, written_blocks = payload.unpack(base64.b64decode(data))
    assert written["options"]["state"] == state
    assert written["tokens"] == header["tokens"]
    assert written_blocks == blocks


def test_a_call_and_its_code_have_the_same_arguments(shipped):
    chosen, text = sessions.find_checkpoint("scratch"), "The 'old' [MASK] \\ {x}."
    call = calls.call_session(chosen, "fill_mask", calls.assign("text", text), top_k=3)
    names = {}
    exec(call.script(), names)
    assert [candidate.token for candidate in names["result"][0].candidates] == [
        candidate.token for candidate in call.result[0].candidates
    ]
    assert "session.fill_mask(text, top_k=3)" in call.script()
    assert eval(call[0].code, names).candidates == call[0].result.candidates


def test_code_of_a_canvas_view_has_the_placeholder_before_the_path_and_the_texts():
    """The browser replaces the first occurrence, which must not be in a path or a text."""
    checkpoint = sessions.CheckpointKey("/models/STATE", 0.0)
    view = calls.Expression(None, "result", ("result = session.attention('STATE')",), checkpoint)
    code = calls.write_canvas_code(view, html.attention_html, "attention.html", figures.attention_map, "layer")
    lines = code.replace(calls.STATE, "{'layer': 1}", 1).splitlines()
    assert "state = {'layer': 1}  # as on the screen" in lines
    assert "session = bertlab.load('/models/STATE')" in lines
    assert "result = session.attention('STATE')" in lines


def test_code_of_nested_arguments():
    inner = calls.assign("number", 3)
    call = calls.call_function(math.fsum, [inner, 4.5])
    assert (call.result, call.code) == (7.5, "fsum([number, 4.5])")
    assert call.script().splitlines() == ["from math import fsum", "", "number = 3"]
    named = calls.assign("table", {"a": inner, "b": (inner,), "c": None})
    assert named.result == {"a": 3, "b": (3,), "c": None}
    assert named.steps[-1] == "table = {'a': number, 'b': (number,), 'c': None}"
