"""A discriminator with the generator that replaces tokens for it (ELECTRA, Clark et al. 2020, arXiv 2003.10555)."""

from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert

# The parts of the factorised embeddings that both models share; each model has a projection of its own.
SHARED_EMBEDDINGS = ("token", "position", "token_type", "norm")


class ReplacedTokenModel(nn.Module):
    """A discriminator (output layer "rtd") and a generator ("mlm") that are trained together and share their
    embeddings.

    Source: section 3.2 of the paper. As in google-research/electra, they also share token types and LayerNorm.
    """

    def __init__(self, discriminator: Bert, generator: Bert):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        for name in SHARED_EMBEDDINGS:
            setattr(generator.embeddings, name, getattr(discriminator.embeddings, name))

    @property
    def config(self) -> ModelConfig:
        return self.discriminator.config


def get_result_model(model: Bert | ReplacedTokenModel) -> Bert:
    """Return the model whose checkpoint is the result of pre-training: the discriminator, if there is one."""
    return model.discriminator if isinstance(model, ReplacedTokenModel) else model


def get_masked_lm(model: Bert | ReplacedTokenModel) -> Bert:
    """Return the model that predicts masked tokens: the generator, if there is one."""
    return model.generator if isinstance(model, ReplacedTokenModel) else model
