"""A discriminator with the generator that replaces tokens for it (ELECTRA, Clark et al. 2020, arXiv 2003.10555)."""

from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert

# The parts of the factorised embeddings that both models share; each model has a projection of its own.
SHARED_EMBEDDINGS = ("token", "position", "token_type", "norm")


class ReplacedTokenModel(nn.Module):
    """Two models that are trained together and share their embeddings.

    Source: section 3.2 of the paper. In the paper, the models share token and position embeddings; as in
    google-research/electra, here they also share the token type embeddings and the LayerNorm.

    Args:
        discriminator: a model with the output layer "rtd".
        generator: a model with the output layer "mlm" and embeddings of the same width; its embeddings are replaced by
            those of the discriminator.
    """

    def __init__(self, discriminator: Bert, generator: Bert):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        for name in SHARED_EMBEDDINGS:
            setattr(generator.embeddings, name, getattr(discriminator.embeddings, name))

    @property
    def config(self) -> ModelConfig:
        """The configuration of the discriminator."""
        return self.discriminator.config


def get_result_model(model: nn.Module) -> Bert:
    """Return the model whose checkpoint is the result of pre-training: the discriminator, if there is one."""
    return model.discriminator if isinstance(model, ReplacedTokenModel) else model


def get_masked_lm(model: nn.Module) -> Bert:
    """Return the model that predicts masked tokens: the generator, if there is one."""
    return model.generator if isinstance(model, ReplacedTokenModel) else model
