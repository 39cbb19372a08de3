"""Recipe of CONTRIBUTING.md: a family, added as one row and used to open a checkpoint and to predict."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.config.families import FAMILIES, Family, register_family

TEXT = "The potter set the [MASK] bowl."


@pytest.fixture
def toybert():
    register_family(Family("toybert", "https://example.org/toybert", first_position=2))
    yield
    del FAMILIES["toybert"]


def test_a_checkpoint_of_a_new_family_opens_and_predicts(toybert, tiny_checkpoint, tmp_path):
    """The toy family leaves the first two rows of the position embeddings unused, as RoBERTa does."""
    shutil.copytree(tiny_checkpoint, tmp_path / "toy")
    config = json.loads((tmp_path / "toy" / "config.json").read_text())
    config |= {"model_type": "toybert", "max_position_embeddings": config["max_position_embeddings"] + 2}
    (tmp_path / "toy" / "config.json").write_text(json.dumps(config))
    weights = load_file(tmp_path / "toy" / "model.safetensors")
    (name,) = (name for name in weights if name.endswith("position_embeddings.weight"))
    unused = torch.full((2, weights[name].shape[1]), 100.0)
    save_file(weights | {name: torch.cat([unused, weights[name]])}, tmp_path / "toy" / "model.safetensors")
    toy, plain = bertlab.load(tmp_path / "toy"), bertlab.load(tiny_checkpoint)
    assert toy.fill_mask(TEXT) == plain.fill_mask(TEXT)
    saved = checkpoint.save(tmp_path / "saved", toy.model, toy.tokenizer, {})
    assert json.loads((saved / "config.json").read_text())["model_type"] == "toybert"
