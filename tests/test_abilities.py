"""Every ability: a command, a route, a method, a page and an example in each language, with the same numbers."""

import inspect
import json
from dataclasses import replace

import pytest
from bertlab_app.registry import PAGES
from support.errors import raises_error

import bertlab
from bertlab.abilities.ability import SHOWN_ONLY, TEXT, Ability, Prediction
from bertlab.abilities.registry import find_abilities
from bertlab.cli.dispatch import main
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import languages, list_message_ids
from bertlab.serving.worker import BatchPredictor
from bertlab.session import Session

METHODS, COMMANDS, ROUTES = (find_abilities(door) for door in ("method", "command", "route"))
each = pytest.mark.parametrize("ability", METHODS.values(), ids=METHODS)


@each
def test_it_has_a_command_a_route_a_page_and_a_method(ability):
    from bertlab.cli.commands import COMMANDS as OTHER_COMMANDS

    assert ability.name in ROUTES
    assert ability.name in COMMANDS or ability.name in OTHER_COMMANDS
    assert (ability.page or ability.name) in PAGES
    for language in languages():
        assert f"{ability.page or ability.name}-lead" in list_message_ids(language)


def test_no_input_hides_an_attribute():
    """It would be the default of the input."""
    assert not [
        name
        for ability in [*METHODS.values(), *COMMANDS.values()]
        for name in ability.inputs()
        if name in vars(Ability)
    ]


@each
def test_its_method_takes_its_inputs(ability):
    shown = [name for name, hint in ability.inputs().items() if SHOWN_ONLY not in getattr(hint, "__metadata__", ())]
    parameters = list(inspect.signature(getattr(Session, ability.method())).parameters)[1:]
    assert [name for name in parameters if name not in ("progress", "batch_size")] == shown


@each
@pytest.mark.parametrize("language", languages())
def test_it_answers_its_example_through_every_door(ability, language, capsys):
    """The command, the server and the method give the same numbers."""
    example = ability.make_example(language)
    source = bertlab.default_checkpoint(ability.opens_like or ability.name, language)
    session = bertlab.load(source)
    expected = json.loads(json.dumps({"checkpoint": session.name} | example.as_json(session.ask(example))))
    (reply,) = BatchPredictor(str(source), "float32", 8).answer([example])
    assert_equal(json.loads(reply), expected)
    result = getattr(session, ability.method())(**example.arguments())
    if not isinstance(example, METHODS["embed"]):  # the method returns only the vectors
        assert_equal(json.loads(json.dumps({"checkpoint": session.name} | example.as_json(result))), expected)
        assert [line for line in example.lines(result) if line.strip()]
    if COMMANDS.get(ability.name) is ability:
        texts = [text for name in ability.example for text in as_texts(getattr(example, name))]
        assert main([ability.name, *texts, "--checkpoint", str(source), "--json"]) == 0
        assert_equal(json.loads(capsys.readouterr().out), expected)


@each
def test_it_refuses_an_empty_text(ability):
    session = bertlab.load(bertlab.default_checkpoint(ability.opens_like or ability.name))
    example = ability.make_example()
    for name, hint in ability.inputs().items():
        if TEXT in getattr(hint, "__metadata__", ()) and name in ability.example:
            value = getattr(example, name)
            with pytest.raises(TextError):
                session.ask(replace(example, **{name: " " if isinstance(value, str) else (" ",) * len(value)}))


@each
def test_it_says_which_output_layer_is_missing(ability, checkpoints):
    if ability.needs:
        with raises_error(BertlabError, "head-missing"):
            bertlab.load(checkpoints / "bare").ask(ability.make_example())


def test_predictions_are_computed_in_batches(checkpoints):
    predictor = BatchPredictor(str(checkpoints / "sst2"), "float32", 8)
    assert issubclass(METHODS["classify"], Prediction)
    texts = ["Bread.", "", "A longer text about tea."]
    replies = predictor.answer([METHODS["classify"](text=text) for text in texts])
    assert [isinstance(reply, BertlabError) for reply in replies] == [False, True, False]


def test_a_number_out_of_range_is_refused(checkpoints):
    with raises_error(BertlabError, "input-out-of-range"):
        bertlab.load(checkpoints / "strongest").fill_mask("A [MASK].", top_k=0)


def as_texts(value: str | tuple[str, ...]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def assert_equal(first: object, second: object) -> None:
    """Compare JSON; numbers may differ by rounding, since batches differ."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_equal(first[key], second[key])
    elif isinstance(first, list):
        assert len(first) == len(second)
        for pair in zip(first, second, strict=True):
            assert_equal(*pair)
    elif isinstance(first, float):
        assert first == pytest.approx(second, rel=1e-4, abs=1e-5)
    else:
        assert first == second
