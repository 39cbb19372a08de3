"""Two to six models of different families on one sentence: what each gives equals what it gives alone."""

import json

import numpy as np
import pytest
from support.families import save_hf_checkpoint
from support.pages import bodies, errors, open_page
from support.texts import text as interface_text

import bertlab
from bertlab.abilities.compare.side_by_side import view_models
from bertlab.abilities.compare.side_by_side_figures import attention_columns, attention_maps

PREFIXES = ("Bert", "Roberta", "Albert", "Electra", "ModernBert", "DistilBert")
SENTENCE, WORD = "The potter set the [MASK] down.", "bowl"


@pytest.fixture(scope="module")
def directories(tmp_path_factory, tiny_tokenizer):
    """A checkpoint of each family; that of ELECTRA is a discriminator, which predicts no masked tokens."""
    root = tmp_path_factory.mktemp("families")
    for prefix in PREFIXES:
        head = "PreTraining" if prefix == "Electra" else "MaskedLM"
        save_hf_checkpoint(root / prefix, prefix, head, tiny_tokenizer)
    return [root / prefix for prefix in PREFIXES]


def test_each_model_gives_what_it_gives_alone(directories):
    sessions = [bertlab.load(path) for path in directories]
    views = view_models(sessions, SENTENCE, top_k=2, originals=(WORD,))
    assert [view.name for view in views] == list(PREFIXES)
    assert [view.family for view in views] == ["bert", "roberta", "albert", "electra", "modernbert", "distilbert"]
    for session, view in zip(sessions, views, strict=True):
        attention = session.attention(SENTENCE)
        assert view.tokens == tuple(attention.tokens)
        np.testing.assert_allclose(view.attention_LTT, attention.probs_LNTT.mean(1), atol=1e-6)
        np.testing.assert_allclose(view.attention_LTT.sum(-1), 1, atol=1e-4)
        if view.family == "electra":
            assert view.fills is None
        else:
            assert view.fills == tuple(session.fill_mask(SENTENCE, 2, originals=(WORD,)))
    assert view_models(sessions[:1], "A bowl.")[0].fills == ()
    modern = views[PREFIXES.index("ModernBert")]
    assert [modern.layer_at(depth) for depth in (0.0, 0.5, 1.0)] == [0, 1, 3]


@pytest.mark.parametrize("count", [2, 6])
def test_the_figure_has_a_map_of_each_model(directories, count):
    views = view_models([bertlab.load(path) for path in directories[:count]], SENTENCE)
    figure = attention_maps(views, 0.0, lang="ko")
    assert [len(trace.z) for trace in figure.data] == [len(view.tokens) for view in views]
    np.testing.assert_allclose(np.square(figure.data[1].z), views[1].attention_LTT[0], atol=1e-3)
    assert figure.layout.annotations[0].text == "Bert<br>0번 레이어"
    columns = attention_columns(views, 0.0)
    assert len(columns["attention"]) == sum(len(view.tokens) ** 2 for view in views)
    assert set(columns["model"]) == {view.name for view in views}


@pytest.mark.parametrize(("count", "most"), [(1, 24), (2, 12), (6, 8)])
def test_maps_side_by_side_have_fewer_labels_so_that_these_do_not_overlap(directories, count, most):
    view = view_models([bertlab.load(directories[0])], "A bowl of rice. " * 4)[0]
    axis = attention_maps([view] * count).layout.xaxis
    assert 2 <= len(axis.ticktext) <= most < len(view.tokens)
    assert [view.tokens[position].token for position in axis.tickvals] == list(axis.ticktext)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_shows_six_families_on_one_sentence(shipped, directories, language):
    models = json.dumps([str(path) for path in directories])
    page = open_page("compare", between="models", models=models, mask="1", lang=language)
    assert not page.exception
    assert not errors(page)
    (table,) = [body for body in bodies(page) if "rows-frame" in body]
    assert table.count("<tr>") == 7
    assert table.count(interface_text("compare-models-no-masks", language)) == 1
    assert "modernbert" in table
    assert interface_text("compare-models-attention", language) in [each.value for each in page.subheader]


def test_the_page_starts_with_shipped_checkpoints_and_needs_two(shipped):
    page = open_page("compare", between="models")
    assert not page.exception
    assert len(page.multiselect[0].value) == 2
    page.multiselect[0].set_value(page.multiselect[0].value[:1]).run()
    assert any(interface_text("compare-models-count", least=2, most=6) in body for body in bodies(page))
