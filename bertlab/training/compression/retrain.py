"""Retrain a compressed model on the rows of its task; pruned weights stay zero."""

from collections.abc import Callable, Iterable, Mapping

import torch

from bertlab.nn.bert import Bert
from bertlab.tasks.training_data import TrainingData
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.trainer import StepReport, Trainer


def retrain(
    model: Bert,
    data: TrainingData,
    steps: int,
    *,
    masks: Mapping[str, torch.Tensor] | None = None,
    learning_rate: float = 5e-5,
    batch_size: int = 32,
    seed: int = 0,
    progress: Callable[[Iterable[StepReport]], Iterable[StepReport]] = iter,
) -> Bert:
    """Train a model in place for some steps, without dropout, and return it.

    The learning rate rises in the first tenth of the steps, then falls to zero.

    Args:
        masks: name of a pruned matrix -> 0 where the weight must stay zero, otherwise 1.

    Raises:
        Diverged: the loss is not finite, or has risen and stays high.
    """
    optim = OptimConfig(lr=learning_rate, warmup=0.1, beta2=0.999)
    # All rows are for this process: (0, 1) is (rank, number of processes).
    batches = data.make_batches(batch_size, seed, (0, 1))
    trainer = Trainer(Optimizer(model, optim), batches, data.loss, steps)
    parameters = dict(model.named_parameters())
    with torch.enable_grad():
        for _ in progress(trainer):
            with torch.no_grad():
                for name, mask in (masks or {}).items():
                    parameters[name].mul_(mask)
    return trainer.optimizer.final_model.eval()
