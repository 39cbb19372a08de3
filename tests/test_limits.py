"""The ranges of settings, and configurations that no model can have."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from support.errors import raises_error

from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.limits import LIMITS, check_limits
from bertlab.config.presets import get_preset
from bertlab.training.finetune import FinetuneConfig
from bertlab.training.pretraining.config import PretrainConfig


@pytest.mark.parametrize(
    ("setting", "value", "id"),
    [
        ("seed", 2**64, "setting-too-large"),
        ("seed", 2**63, "setting-too-large"),
        ("init", float("inf"), "setting-not-finite"),
        ("mask_share", float("nan"), "setting-not-finite"),
        ("mask_share", 1.5, "setting-out-of-range"),
        ("random_share", -0.1, "setting-out-of-range"),
        ("batch_size", 100_000_000, "setting-out-of-range"),
        ("max_tokens", 10**12, "setting-out-of-range"),
        ("minutes", float("inf"), "setting-not-finite"),
        ("steps", 10**30, "setting-too-large"),
        ("steps", 10**400, "setting-too-large"),
    ],
)
def test_a_setting_that_no_run_can_have_is_refused(tmp_path, setting, value, id):
    config = PretrainConfig(corpus=tmp_path, out=tmp_path, **{setting: value})
    with raises_error(BertlabError, id, flag=setting.replace("_", "-")):
        check_limits(config)


@pytest.mark.parametrize(("epochs", "id"), [(1e300, "setting-out-of-range"), (math.inf, "setting-not-finite")])
def test_a_number_of_epochs_that_never_ends_is_refused(tmp_path, epochs, id):
    with raises_error(BertlabError, id, flag="epochs"):
        check_limits(FinetuneConfig(task="sst2", from_="strongest", out=tmp_path, epochs=epochs))


def test_every_bound_is_in_its_range_or_just_outside():
    for flag, limit in LIMITS.items():
        assert limit.contains(limit.minimum) != limit.excludes_minimum, flag
        assert limit.maximum is None or limit.contains(limit.maximum), flag
        assert limit.below is None or not limit.contains(limit.below), flag


def test_settings_without_numbers_are_ignored():
    check_limits(SimpleNamespace(seed=None, steps="many", batch_size=True))


def test_numbers_of_parts_are_checked_too_and_thresholds_may_be_infinite():
    @dataclass
    class Part:
        eps: float = float("nan")

    @dataclass
    class Whole:
        part: Part
        null_threshold: float = float("inf")

    with raises_error(BertlabError, "setting-not-finite", flag="part.eps"):
        check_limits(Whole(Part()))
    check_limits(Whole(Part(1.0)))


@pytest.mark.parametrize(
    ("changes", "id", "params"),
    [
        ({"num_attention_heads": True}, "config-sizes-missing", {"fields": ["num_attention_heads"]}),
        ({"vocab_size": 7.0, "hidden_size": None}, "config-sizes-missing", {"fields": ["vocab_size", "hidden_size"]}),
        ({"num_attention_heads": 5}, "heads-do-not-divide", {"heads": 5}),
        ({"hidden_act": "relu"}, "activation-unknown", {"activation": "relu"}),
        ({"model_type": "whisper"}, "model-type-unknown", {"type": "whisper"}),
        ({"model_type": "gpt2"}, "family-gpt", {"type": "gpt2"}),
        ({"model_type": "xlnet"}, "family-xlnet", {"type": "xlnet"}),
        ({"model_type": "mbart"}, "family-bart", {"type": "mbart"}),
        ({"model_type": "t5"}, "family-t5", {"type": "t5"}),
        ({"model_type": ["bert"]}, "model-type-unknown", {}),
        ({"position_embedding_type": "relative_key"}, "position-embeddings-unknown", {"type": "relative_key"}),
        ({"id2label": {"1": "a", "2": "b"}}, "config-labels-misnumbered", {"numbers": ["1", "2"]}),
        ({"pruned_heads": [1]}, "config-pruned-heads-malformed", {}),
        ({"pruned_heads": {"0": [99]}}, "config-pruned-head-missing", {"layer": 0, "head": "99"}),
    ],
)
def test_a_config_json_that_no_model_can_have_is_refused(changes, id, params):
    with raises_error(CheckpointError, id, **params):
        ModelConfig.from_hf(get_preset("tiny").to_hf() | changes)


def test_a_preset_that_does_not_exist_is_refused():
    with raises_error(BertlabError, "preset-unknown", name="giant"):
        get_preset("giant")
