"""Pre-training by hand: draws with the shares of the paper, and the losses of a training step on the same pair."""

import copy
import json
import math
from collections import Counter
from dataclasses import dataclass, replace

import pytest
import torch
from support.errors import command_error, raises_error

import bertlab
from bertlab.abilities.pretraining_example import figures as views
from bertlab.abilities.pretraining_example.compute import DrawSettings, read_documents
from bertlab.abilities.results import as_json
from bertlab.checkpoints import checkpoint
from bertlab.cli.dispatch import main
from bertlab.config.errors import BertlabError, MissingHead, TextError
from bertlab.config.languages import languages
from bertlab.nn.fast.model import FastBert
from bertlab.session import Session
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.trainer import Trainer

TEXT = "The potter set the bowl on the shelf. Rain fell all night. The boats stayed in. She asked for tea and bread."
POOL = ("A train leaves for the coast at six. Another follows at nine.", "He brought a kettle. It was old. It was hot.")
SPECIAL = {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"}


@pytest.fixture(scope="module")
def session(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


def with_objective(session: Session, *objectives: str) -> Session:
    """The session of the same model, whose record says that it was trained on these objectives."""
    return Session(replace(session.loaded, record={"objectives": ["masked words", *objectives]}))


# -- the draws


def test_a_draw_depends_only_on_its_number(session):
    first = session.pretraining_example(TEXT, 7)
    assert session.pretraining_example(TEXT, 7) == first
    others = [session.pretraining_example(TEXT, number) for number in range(8, 14)]
    assert all(other.tokens != first.tokens for other in others)
    assert {(other.label, len(other.tokens)) for other in others} != {(first.label, len(first.tokens))}


def test_half_of_the_pairs_have_a_random_second_sentence(session):
    labels = [example.label for example in draw_many(session, 300)]
    assert abs(sum(labels) / 300 - 0.5) < 4 * 0.5 / 300**0.5


def draw_many(session: Session, count: int, **settings):
    return [session.pretraining_example(TEXT, n, documents=POOL, **settings) for n in range(1, count + 1)]


def test_15_percent_are_chosen_of_which_80_10_10_are_masked_random_unchanged(session):
    examples = draw_many(session, 300)
    counts = Counter(row.replacement_kind for example in examples for row in example.predictions)
    count, tokens = sum(counts.values()), sum(len(example.tokens) for example in examples)
    assert count / tokens == pytest.approx(0.15, abs=0.01)
    for kind, share in (("mask", 0.8), ("random", 0.1), ("unchanged", 0.1)):
        assert counts[kind] / count == pytest.approx(share, abs=4 * (share * (1 - share) / count) ** 0.5), kind


def test_the_shares_follow_the_settings(session):
    examples = draw_many(session, 150, chosen_share=0.4, mask_share=0.2, random_share=0.5)
    counts = Counter(row.replacement_kind for example in examples for row in example.predictions)
    count, tokens = sum(counts.values()), sum(len(example.tokens) for example in examples)
    assert count / tokens == pytest.approx(0.4, abs=0.02)
    for kind, share in (("mask", 0.2), ("random", 0.5), ("unchanged", 0.3)):
        assert counts[kind] / count == pytest.approx(share, abs=4 * (share * (1 - share) / count) ** 0.5), kind


def test_every_token_that_the_model_reads_fits_the_kind_of_its_replacement(session):
    for example in draw_many(session, 60):
        by_position = {row.position: row for row in example.predictions}
        assert [row.position for row in example.predictions] == sorted(by_position)
        for token in example.tokens:
            assert token.replacement_kind == getattr(by_position.get(token.position), "replacement_kind", None)
            if token.replacement_kind == "mask":
                assert token.input_token == "[MASK]"
            elif token.replacement_kind == "random":
                assert token.input_token not in SPECIAL
            else:
                assert token.input_token == token.token
            if token.replacement_kind:
                assert token.token not in SPECIAL
                row = by_position[token.position]
                assert (row.token, row.input_token) == (token.token, token.input_token)


def test_whole_words_are_chosen_together(session):
    text = "The potters carried lanterns. The keepers asked for bowls. Kettles boiled on the harbours."
    num_long = 0
    for number in range(1, 60):
        example = session.pretraining_example(text, number, whole_word=True, chosen_share=0.3, documents=POOL)
        words: list[list] = []
        for token in example.tokens:
            if token.token.startswith("##") and words and not example.tokens[token.position - 1].special:
                words[-1].append(token)
            else:
                words.append([token])
        for word in words:
            assert len({token.replacement_kind is None for token in word}) == 1, [token.token for token in word]
            num_long += len(word) > 1 and word[0].replacement_kind is not None
    assert num_long > 20


def sentence(example, segment: int) -> list[str]:
    return [token.token for token in example.tokens if token.segment == segment and not token.special]


def test_a_real_b_continues_a_and_a_random_one_is_from_another_document(session):
    text_ids = session.tokenizer.encode_plain([TEXT])[0]
    pool = {text: session.tokenizer.tokens(session.tokenizer.encode_plain([text])[0]) for text in POOL}
    tokens = session.tokenizer.tokens(text_ids)
    for example in draw_many(session, 40):
        a, b = sentence(example, 0), sentence(example, 1)
        assert example.text_tokens == len(tokens)
        if example.label == 0:
            assert example.document_b is None
            joined = " ".join(a + b)
            assert joined in " ".join(tokens)
        else:
            assert example.document_b in POOL
            assert " ".join(b) in " ".join(pool[example.document_b])
            assert " ".join(a) in " ".join(tokens)


def test_b_is_never_from_a_copy_of_the_text(session):
    for number in range(1, 30):
        example = session.pretraining_example(TEXT, number, documents=(TEXT, POOL[0]))
        assert example.document_b in (None, POOL[0])
    assert all(not session.pretraining_example(TEXT, n, documents=(TEXT, " ")).label for n in range(1, 20))


def test_a_swapped_pair_is_the_pair_in_reverse(session):
    tokens = " ".join(session.tokenizer.tokens(session.tokenizer.encode_plain([TEXT])[0]))
    labels = []
    for example in draw_many(session, 60, pair_objective="order"):
        a, b = sentence(example, 0), sentence(example, 1)
        assert example.document_b is None
        assert " ".join(b + a if example.label else a + b) in tokens
        assert example.label_name == ("swapped" if example.label else "in order")
        labels.append(example.label)
    assert 15 < sum(labels) < 45


def test_pairs_of_a_long_text_begin_at_different_sentences(session):
    words = ["potter", "bowl", "shelf", "window", "rain", "harbour", "boats", "keeper", "lantern", "mill", "tea"]
    text = " ".join(f"The {first} and the {second} stayed in." for first in words for second in words)
    examples = [session.pretraining_example(text, number) for number in range(1, 20)]
    assert all(len(example.tokens) <= 64 for example in examples), "this model has 64 positions"
    assert len({tuple(sentence(example, 0)[:8]) for example in examples}) > 8
    assert max(len(example.tokens) for example in examples) == 64
    shorter = session.pretraining_example(text, 3, max_tokens=20)
    assert len(shorter.tokens) <= 20


def test_one_sentence_is_cut_into_a_and_b(session):
    example = session.pretraining_example("The keeper carried the lantern", 2, documents=())
    assert example.text_sentences == 1
    assert sentence(example, 0) + sentence(example, 1) == session.tokenizer.tokens(
        session.tokenizer.encode_plain(["The keeper carried the lantern"])[0]
    )


# -- the losses


@dataclass(frozen=True)
class Position:
    """Where the trainer is in `OneBatch`."""

    step: int = 0


class OneBatch:
    """Training data that consist of one batch."""

    def __init__(self, batch: PairBatch):
        self.batch, self.position = batch, Position()

    def update_progress(self, progress: float) -> bool:
        return False

    def __next__(self) -> PairBatch:
        return self.batch


def make_batch(session: Session, example, size: int = 64) -> PairBatch:
    """The batch of a pair as the trainer reads it, padded; made from the tokens that the example shows."""
    ids = {token: id for id, token in enumerate(session.tokenizer.tokens(range(session.tokenizer.vocab_size)))}
    length = len(example.tokens)
    rows = [ids[token.token] for token in example.tokens] + [session.tokenizer.pad_id] * (size - length)
    segments = [token.segment for token in example.tokens] + [0] * (size - length)
    inputs = Batch(torch.tensor([rows]), torch.tensor([segments]), torch.arange(size)[None] < length)
    return PairBatch(inputs, torch.tensor([example.seed]), torch.tensor([example.label]))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"whole_word": True, "chosen_share": 0.3},
        {"mask_share": 0.3, "random_share": 0.6},
        {"pair_objective": "order"},
    ],
)
def test_the_losses_are_those_of_a_training_step(session, settings):
    objective = settings.get("pair_objective", "next")
    trained = with_objective(session, "sentence order" if objective == "order" else "next sentence")
    rule = MaskRule.for_tokenizer(
        session.tokenizer, settings.get("chosen_share", 0.15), settings.get("whole_word", False),
        mask_share=settings.get("mask_share", 0.8), random_share=settings.get("random_share", 0.1),
    )  # fmt: skip
    assert trained.config.hidden_dropout == 0 or not trained.model.training
    for number in (1, 2, 5):
        example = trained.pretraining_example(TEXT, number, documents=POOL, **settings)
        config = session.config.replace(hidden_dropout=0.0, attention_dropout=0.0)
        model = FastBert(config, session.heads)
        model.load_state_dict(copy.deepcopy(session.model.state_dict()))
        data = OneBatch(make_batch(session, example))
        step = next(iter(Trainer(Optimizer(model, OptimConfig()), data, PretrainingLoss(rule, objective), steps=1)))
        name = "order" if objective == "order" else "nsp"
        assert example.losses.total == pytest.approx(step.loss, rel=1e-5)
        assert example.losses.mlm == pytest.approx(step.metrics["mlm_loss"], rel=1e-5)
        assert example.losses.pair == pytest.approx(step.metrics[f"{name}_loss"], rel=1e-5)
        assert example.losses.total == pytest.approx(example.losses.mlm + example.losses.pair, rel=1e-5)


def test_the_shown_probabilities_give_the_losses(session):
    for example in draw_many(session, 6):
        rows = example.predictions
        assert sum(row.loss for row in rows) / len(rows) == pytest.approx(example.losses.mlm, rel=1e-4)
        assert all(row.loss == pytest.approx(-math.log(row.probability), rel=1e-4) for row in rows)
        probability = 1 - example.pair.probability if example.label else example.pair.probability
        assert example.losses.pair == pytest.approx(-math.log(probability), rel=1e-4)
        for row in rows:
            probabilities = [candidate.probability for candidate in row.candidates]
            assert probabilities == sorted(probabilities, reverse=True)
            if row.rank <= 5:
                assert row.candidates[row.rank - 1].id == row.id
                assert row.candidates[row.rank - 1].probability == pytest.approx(row.probability)
            else:
                assert row.id not in {candidate.id for candidate in row.candidates}


def test_the_losses_of_several_draws_are_those_of_each(session):
    losses = session.pretraining_losses(TEXT, 5, documents=POOL)
    assert [row.seed for row in losses] == [1, 2, 3, 4, 5]
    assert losses == tuple(example.losses for example in draw_many(session, 5))
    assert session.pretraining_losses(TEXT, [4, 2], documents=POOL) == (losses[3], losses[1])


def test_a_pair_has_a_loss_only_for_the_objective_of_the_checkpoint(session):
    for trained, own, other in (("next sentence", "next", "order"), ("sentence order", "order", "next")):
        checkpoint_session = with_objective(session, trained)
        own_example = checkpoint_session.pretraining_example(TEXT, 1, pair_objective=own)
        other_example = checkpoint_session.pretraining_example(TEXT, 1, pair_objective=other)
        assert own_example.checkpoint_objective == other_example.checkpoint_objective == own
        assert own_example.pair.objective == own
        assert other_example.pair is None
        assert other_example.losses.pair is None
        assert other_example.losses.total == other_example.losses.mlm


def test_a_checkpoint_without_a_sentence_pair_layer_has_an_mlm_loss(session, tiny_tokenizer, tmp_path):
    model = FastBert(session.config, ["mlm"])
    model.load_state_dict(session.model.state_dict(), strict=False)
    path = checkpoint.save(tmp_path / "mlm", model, tiny_tokenizer, {}, dtype=torch.float32)
    example = bertlab.load(path).pretraining_example(TEXT, 3)
    assert example.checkpoint_objective == "none"
    assert example.pair is None
    assert example.losses.mlm == pytest.approx(session.pretraining_example(TEXT, 3).losses.mlm, rel=1e-5)


# -- what cannot be drawn


@pytest.mark.parametrize("text", ["", " \n\u200b", "\x00"])
def test_an_empty_text_is_refused(session, text):
    with raises_error(TextError, "text-empty"):
        session.pretraining_example(text)


@pytest.mark.parametrize(
    ("text", "settings", "kind", "id"),
    [
        ("a", {}, TextError, "text-too-short-for-pair"),
        (None, {}, TextError, "text-not-a-string"),
        (TEXT, {"seed": 0}, BertlabError, "number-below-one"),
        (TEXT, {"seed": 2**70}, BertlabError, "setting-too-large"),
        (TEXT, {"top_k": 0}, BertlabError, "number-below-one"),
        (TEXT, {"chosen_share": 0.0}, BertlabError, "setting-out-of-range"),
        (TEXT, {"mask_share": 1.5}, BertlabError, "setting-out-of-range"),
        (TEXT, {"mask_share": 0.8, "random_share": 0.3}, BertlabError, "mask-shares-too-large"),
        (TEXT, {"max_tokens": 3}, BertlabError, "setting-out-of-range"),
        (TEXT, {"pair_objective": "none"}, BertlabError, "pair-objective-unknown"),
    ],
)
def test_what_cannot_be_drawn_is_refused(session, text, settings, kind, id):
    with raises_error(kind, id):
        session.pretraining_example(text, **settings)


def test_models_that_predict_no_masks_are_refused(session, checkpoints):
    for path, id in ((checkpoints / "sst2", "head-missing"), (checkpoints / "bare", "head-missing")):
        with raises_error(MissingHead, id):
            bertlab.load(path).pretraining_example(TEXT)
    causal = FastBert(session.config.replace(left_to_right=True), session.heads).eval()
    with raises_error(MissingHead, "head-mlm-causal"):
        Session(replace(session.loaded, model=causal)).pretraining_example(TEXT)
    single = FastBert(session.config.replace(type_vocab_size=1), session.heads).eval()
    with raises_error(TextError, "pair-without-token-types"):
        Session(replace(session.loaded, model=single)).pretraining_example(TEXT)


# -- documents, settings and views


@pytest.mark.parametrize("code", list(languages()))
def test_every_language_has_documents_of_several_sentences(code):
    documents = read_documents(code)
    assert len(set(documents)) == len(documents) >= 7, "the first is the example, and at least six others"
    assert min(len(split_sentences(document)) for document in documents) >= 5
    script = languages()[code].script
    assert not script or all(languages()[code].uses_script(document) for document in documents)


def test_random_sentences_are_in_the_language_of_the_text(session):
    for code in languages():
        document = read_documents(code)[0]
        others = {session.pretraining_example(document, number).document_b for number in range(1, 12)} - {None}
        assert others
        assert others <= set(read_documents(code)[1:])


def test_the_default_settings_are_those_of_pre_training():
    from bertlab.training.pretraining.config import PretrainConfig

    defaults = DrawSettings()
    for name in vars(defaults):
        assert getattr(defaults, name) == PretrainConfig.__dataclass_fields__[name].default, name


def test_views_escape_hostile_texts_and_name_every_kind_of_replacement(session):
    example = session.pretraining_example(TEXT, 1, chosen_share=0.5)
    hostile = "<script>alert(1)</script> %{y}"
    example = replace(
        example, tokens=tuple(replace(token, token=hostile, input_token=hostile) for token in example.tokens),
        predictions=tuple(replace(row, token=hostile) for row in example.predictions),
    )  # fmt: skip
    html = views.example_html(example)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= len(example.tokens)
    for kind in ("mask", "random", "unchanged"):
        count = sum(token.replacement_kind == kind for token in example.tokens)
        assert f"{views._name_replacement_kinds('en')[kind]} {count}" in html
    grid = views.candidate_grid(example)
    assert len(grid.layout.yaxis.tickvals) == len(example.predictions)
    assert not any("<script" in text for text in (*grid.layout.yaxis.ticktext, *grid.data[0].customdata[0]))
    assert len(grid.layout.shapes) == sum(row.rank <= 5 for row in example.predictions)


def test_the_figure_of_the_losses_shows_points_and_running_means(session):
    losses = session.pretraining_losses(TEXT, 4)
    figure = views.loss_curves(losses)
    names = ("total", "mlm", "pair")
    for name, points, line in zip(names, figure.data[::2], figure.data[1::2], strict=True):
        values = [getattr(row, name) for row in losses]
        assert list(points.y) == values
        assert line.y[-1] == pytest.approx(sum(values) / 4)
    columns = views.loss_columns(losses)
    assert columns["total_mean"][-1] == pytest.approx(sum(columns["total_loss"]) / 4)
    without_pair = [replace(row, pair=None, total=row.mlm) for row in losses]
    assert len(views.loss_curves(without_pair).data) == 2
    assert "pair_loss" not in views.loss_columns(without_pair)


def test_an_example_can_be_written_as_json(session):
    example = session.pretraining_example(TEXT, 2)
    assert as_json(example)["losses"]["mlm"] == example.losses.mlm


# -- the command


def test_the_command_prints_the_example(session, tiny_checkpoint, capsys):
    arguments = ["pretraining-example", TEXT, "--seed", "3", "--whole-word", "--checkpoint", str(tiny_checkpoint)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    example = session.pretraining_example(TEXT, 3, whole_word=True)
    assert f"seed 3: {example.label_name}" in out
    assert " ".join(token.input_token for token in example.tokens) in out
    assert f"sum {example.losses.total:.3f}" in out
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["losses"]["total"] == pytest.approx(example.losses.total)
    assert printed["seed"] == printed["losses"]["seed"] == 3


def test_the_command_refuses_what_cannot_be_drawn(tiny_checkpoint):
    place = ("--checkpoint", str(tiny_checkpoint))
    assert command_error("pretraining-example", " ", *place).id == "text-empty"
    assert command_error("pretraining-example", TEXT, "--seed", "0", *place).id == "number-below-one"
    shares = ("--mask-share", "0.9", "--random-share", "0.9")
    assert command_error("pretraining-example", TEXT, *shares, *place).id == "mask-shares-too-large"
