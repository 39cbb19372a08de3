"""The page "Pre-training by hand": draws, links, settings that add up to 100 %, and texts that cannot be drawn from."""

import re

import pytest
import torch
from bertlab_app.data import sessions
from support.figures import saved_figures
from support.pages import HOSTILE, bodies, errors, open_example_page
from support.texts import text

from bertlab.abilities.pretraining_example.compute import read_documents
from bertlab.checkpoints import checkpoint
from bertlab.nn.fast.model import FastBert

SHARES = ("mask-share", "random-share", "same-share")


def open_pretraining(**parameters: str):
    app = open_example_page("pretraining", **parameters)
    return app


def shows(app, id: str, language: str = "en", **values) -> bool:
    return any(text(id, language, **values) in body for body in bodies(app))


def tokens_of(app) -> str:
    return next(body for body in bodies(app) if 'class="tokens"' in body)


def link_of(app) -> dict[str, str]:
    return {name: "".join(value) for name, value in app.query_params.items()}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_opens_with_a_drawn_example(shipped, language):
    app = open_pretraining(lang=language)
    assert not errors(app)
    assert app.text_area(key="document").value in read_documents("en"), "the checkpoint of the tests is English"
    assert "[MASK]" in tokens_of(app)
    assert [menu["name"] for menu in saved_figures(app)] == ["pretraining-candidates", "pretraining-losses"]
    assert any(shows(app, f"pretraining-drawn-next-{label}", language, draw=1) for label in (0, 1))
    assert sum(markdown.value.startswith("$$") for markdown in app.markdown) == 6


def test_drawing_again_advances_and_a_link_shows_the_same_draw(shipped):
    app = open_pretraining()
    seen = [tokens_of(app)]
    for number in (2, 3, 4):
        app.button(key="draw-1").click().run()
        assert not app.exception
        assert app.number_input(key="draw").value == number
        seen.append(tokens_of(app))
    assert len(set(seen)) == 4
    assert link_of(app)["draw"] == "4"
    assert tokens_of(open_pretraining(**link_of(app))) == seen[-1]
    losses = saved_figures(app)[1]["columns"]
    assert losses["draw"] == [1, 2, 3, 4]
    assert losses["total_mean"][-1] == pytest.approx(sum(losses["total_loss"]) / 4, rel=1e-3)
    app.button(key="draw-10").click().run()
    assert app.number_input(key="draw").value == 14
    assert len(saved_figures(app)[1]["columns"]["draw"]) == 14
    app.number_input(key="draw").set_value(2).run()
    assert tokens_of(app) == seen[1], "an earlier draw can be shown again"


def test_the_last_draw_has_no_next_one(shipped):
    app = open_pretraining(draw="95")
    app.button(key="draw-10").click().run()
    assert app.number_input(key="draw").value == 100
    assert app.button(key="draw-1").disabled
    assert open_pretraining(draw="900").number_input(key="draw").value == 100


@pytest.mark.parametrize("changed", SHARES)
def test_the_three_shares_always_add_up_to_100_percent(shipped, changed):
    app = open_pretraining()
    for value in (55, 100, 0, 30):
        app.slider(key=changed).set_value(value).run()
        assert not errors(app)
        assert app.slider(key=changed).value == value
        assert sum(app.slider(key=name).value for name in SHARES) == 100
    app.button(key="undo").click().run()
    assert not errors(app)
    assert sum(app.slider(key=name).value for name in SHARES) == 100


def test_the_sliders_change_the_draw(shipped):
    app = open_pretraining()
    app.slider(key="mask").set_value(50).run()
    app.slider(key="random-share").set_value(100).run()
    tokens = tokens_of(app)
    assert "[MASK] 0" in tokens
    assert f"{text('figure-replacement-unchanged')} 0" in tokens
    count = int(re.search(rf"{text('figure-replacement-random')} (\d+)", tokens)[1])
    total = len(re.findall("<bdi", tokens))
    assert count == pytest.approx(0.5 * total, abs=1)


def test_shares_of_a_link_that_exceed_100_percent_are_one_line(shipped):
    link = {"mask-share": "90", "random-share": "60"}
    app = open_pretraining(**link)
    assert errors(app) == [body for body in bodies(app) if text("mask-shares-too-large") in body]
    app.slider(key="mask-share").set_value(40).run()
    assert not errors(app), "moving a slider is a way on"


def test_code_and_results_of_the_page_contain_its_settings(shipped):
    app = open_pretraining(document="Tea and bread. Rain fell.", draw="3", order="1", mask="30")
    code = saved_figures(app)[0]["code"]
    assert (
        "session.pretraining_example('Tea and bread. Rain fell.', 3, chosen_share=0.3, pair_objective='order')" in code
    )
    subject = saved_figures(app)[1]["subject"]
    assert subject["text"] == "Tea and bread. Rain fell."
    assert subject["checkpoint"] == "strongest"


def test_finished_draws_are_not_computed_again(shipped, monkeypatch):
    app = open_pretraining(document="A lantern was old. The mill was new.", draw="6")
    asked = []
    session = sessions.open_session(sessions.find_checkpoint("strongest"))
    compute = type(session).pretraining_losses
    monkeypatch.setattr(
        type(session), "pretraining_losses",
        lambda self, text, draws, **settings: asked.extend(draws) or compute(self, text, draws, **settings),
    )  # fmt: skip
    app.button(key="draw-1").click().run()
    assert asked == [], "the losses of the current draw are known from its example"
    app.button(key="draw-10").click().run()
    assert asked == list(range(8, 17))


# -- objectives


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_checkpoint_trained_on_nsp_has_no_loss_for_the_order(shipped, language):
    app = open_pretraining(lang=language, order="1")
    assert any(shows(app, f"pretraining-drawn-order-{label}", language, draw=1) for label in (0, 1))
    assert shows(app, "pretraining-objective-next", language)
    app.toggle(key="order").set_value(False).run()
    assert not shows(app, "pretraining-objective-next", language)
    assert shows(app, "pretraining-total-loss", language)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_checkpoint_trained_on_order_opens_with_its_own_objective(
    shipped, tmp_path, tiny_model, tiny_tokenizer, language
):
    record = {"objectives": ["masked words", "sentence order"]}
    path = str(checkpoint.save(tmp_path / "ordered", tiny_model, tiny_tokenizer, record, dtype=torch.float32))
    app = open_pretraining(lang=language, checkpoint=path)
    assert app.toggle(key="order").value
    assert any(shows(app, f"pretraining-drawn-order-{label}", language, draw=1) for label in (0, 1))
    assert shows(app, "pretraining-total-loss", language)
    app.toggle(key="order").set_value(False).run()
    assert shows(app, "pretraining-objective-order", language)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_checkpoint_without_a_sentence_pair_layer_is_explained(
    shipped, tmp_path, tiny_model, tiny_tokenizer, language
):
    model = FastBert(tiny_model.config, ["mlm"])
    model.load_state_dict(tiny_model.state_dict(), strict=False)
    path = str(checkpoint.save(tmp_path / "mlm", model, tiny_tokenizer, {}, dtype=torch.float32))
    app = open_pretraining(lang=language, checkpoint=path)
    assert not errors(app)
    assert shows(app, "pretraining-objective-none", language)
    assert len(saved_figures(app)) == 2


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_checkpoint_without_mlm_is_replaced(shipped, language):
    app = open_pretraining(lang=language, checkpoint="sst2")
    assert not errors(app)
    assert shows(app, "checkpoint-replaced", language, chosen="sst2", used="strongest")
    assert len(saved_figures(app)) == 2


# -- texts that need a word


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("document", "id"), [(" ", "text-empty"), ("a", "text-too-short-for-pair")])
def test_a_text_without_a_pair_is_one_line_and_the_example_a_way_on(shipped, language, document, id):
    app = open_pretraining(lang=language, document=document)
    assert len(errors(app)) == 1
    assert shows(app, id, language)
    app.button(key="example-text").click().run()
    assert not errors(app)
    assert app.text_area(key="document").value == read_documents("en")[0]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_one_sentence_is_drawn_with_a_note(shipped, language):
    app = open_pretraining(lang=language, document="The keeper carried the lantern")
    assert not errors(app)
    assert shows(app, "pretraining-one-sentence", language)
    assert len(saved_figures(app)) == 2


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_long_document_is_drawn_with_a_note(shipped, language):
    sentence = "The keeper carried the lantern to the mill. "
    app = open_pretraining(lang=language, document=75 * sentence)
    assert not errors(app)
    tokens = sessions.count_tokens(sessions.find_checkpoint("strongest"), sentence)
    assert shows(app, "pretraining-long-document", language, tokens=75 * tokens, limit=64)


def test_a_hostile_document_is_shown_as_text(shipped):
    app = open_pretraining(document=f"{HOSTILE} Rain fell. {HOSTILE}")
    assert not errors(app)
    assert not any("<script" in body or "<img" in body for body in bodies(app))
