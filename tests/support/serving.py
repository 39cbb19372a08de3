"""A dispatcher of `bertlab serve` without worker processes."""

from pathlib import Path

from bertlab.abilities.ability import Ability
from bertlab.config.errors import BertlabError
from bertlab.serving.dispatcher import Dispatcher
from bertlab.serving.metrics import ServerMetrics
from bertlab.serving.options import ServeOptions
from bertlab.serving.worker import BatchPredictor


class DirectDispatcher(Dispatcher):
    """A dispatcher that computes in this process."""

    def __init__(self, checkpoint: Path, **settings):
        super().__init__(ServeOptions(str(checkpoint), workers=1, **settings), ServerMetrics())
        self.predictor = BatchPredictor(str(checkpoint), "float32", 8)
        self.description = self.predictor.describe()
        self.queue = ()

    async def answer(self, ability: Ability) -> str:
        (reply,) = self.predictor.answer([ability])
        if isinstance(reply, BertlabError):
            raise reply
        return reply
