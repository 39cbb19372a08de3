"""Every figure of the window can leave it: its Python lines run and draw the same, its numbers are those drawn."""

import base64
import json
import re

import numpy as np
import pytest
from support.figures import draw_from_code, saved_figures, trace_values
from support.pages import SCREENS, open_page

from bertlab.views import export, payload

HOSTILE = {name: "The 'old' \"mill\" \\ {x} stood." for name in ("a", "text", "first", "question")}


@pytest.mark.parametrize("typed", [{}, HOSTILE], ids=["as it opens", "hostile"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_lines_of_every_figure_draw_it_again(shipped, monkeypatch, screen, typed):
    app = open_page(screen, **typed)
    assert not app.exception, app.exception[0].message
    menus, charts = saved_figures(app), [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert len(menus) >= len(charts), "a figure that cannot be saved: draw it with plots.show"
    for menu in menus:
        assert len({len(values) for values in (menu["columns"] or {}).values()}) <= 1, f"{menu['name']}: uneven columns"
    for menu, chart in zip([menu for menu in menus if menu["name"] != "start-arcs"], charts, strict=True):
        assert menu["code"], f"{menu['name']}: give plots.show the lines that draw it"
        assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart), (
            menu["name"]
        )


FIGURES = {
    "xray": {"heads": {"layer", "head", "share"}, "windows": {"window", "score", "no_answer_score"}},
    "depth": {"lens": {"layer", "position", "token", "prediction", "probability"}, "depth": {"final_rank"}},
    "compare": {
        "heads": {"layer", "head", "js_distance"}, "head": {"query", "key", "difference"},
        "drift": {"layer", "linear_cka"}, "moved-most": {"first", "second", "cosine_distance"},
    },
    "heads": {"before-after": {"label", "before", "after"}},
    "fill_mask": {"mask-0": {"token", "probability"}},
    "question": {"curves": {"word", "start", "end"}},
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


CANVASES = [("attention", {}), ("attention", {"look": "neuron"}), ("attention", {"a": "The 'old' \\ mill"})]


@pytest.mark.parametrize(("screen", "parameters"), CANVASES)
def test_the_lines_of_a_canvas_write_the_page_and_draw(shipped, monkeypatch, tmp_path, screen, parameters):
    app = open_page(screen, **parameters)
    packed = [element.proto for element in app.get("bidi_component") if element.proto.WhichOneof("data") == "bytes"]
    code = payload.unpack(packed[0].bytes)[0]["options"]["code"]
    # the browser writes what the reader has set in the place of STATE
    state = {"view": "matrix", "layer": 1, "head": 1, "heads": None, "hide": True, "token": 1}
    monkeypatch.chdir(tmp_path)
    figure = draw_from_code(code.replace("STATE", repr(state)), monkeypatch)
    assert len(figure.data) in (1, 2)
    (page,) = tmp_path.glob("*.html")
    assert "<canvas" not in page.read_text(encoding="utf-8").split("<script")[0]
    data = re.search(r'id="payload">([^<]*)<', page.read_text(encoding="utf-8"))[1]
    assert payload.unpack(base64.b64decode(data))[0]["options"]["state"] == state
