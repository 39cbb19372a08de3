"""Train BERT, fine-tune it, and look inside it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # editors read these imports; at run time `__getattr__` imports a name when it is used
    from bertlab.api import EvaluationResult, PreparedCorpus, TrainingResult, evaluate, finetune, prepare, pretrain
    from bertlab.checkpoints.locate import find_shipped_checkpoints
    from bertlab.config.errors import BertlabError
    from bertlab.session import (
        Answers,
        AttentionMap,
        BlockMap,
        Choice,
        ChoiceScores,
        Classification,
        HeadEffects,
        HeadRoles,
        InputMap,
        JointFill,
        Lens,
        MaskFill,
        NeuronMap,
        NextSentenceResult,
        PredictionChange,
        Rollout,
        Session,
        SpanAttention,
        SpanXray,
        Tags,
        TokenRow,
        WordEffects,
        load,
    )  # fmt: skip
    from bertlab.tasks.registry import default_checkpoint

__version__ = "0.1.0"
__all__ = [
    "Answers", "AttentionMap", "BertlabError", "BlockMap", "Choice", "ChoiceScores", "Classification",
    "EvaluationResult", "HeadEffects", "HeadRoles", "InputMap", "JointFill", "Lens", "MaskFill", "NeuronMap",
    "NextSentenceResult", "PredictionChange", "PreparedCorpus", "Rollout", "Session", "SpanAttention", "SpanXray",
    "Tags", "TokenRow", "TrainingResult", "WordEffects", "default_checkpoint", "evaluate", "find_shipped_checkpoints",
    "finetune", "load", "prepare", "pretrain",
]  # fmt: skip

_API_NAMES = ("EvaluationResult", "PreparedCorpus", "TrainingResult", "evaluate", "finetune", "prepare", "pretrain")
_DEFAULT_MODULE = "bertlab.session"  # the module that defines every public name that is not in `_MODULES`
# public name -> the module that defines it
_MODULES = {
    **dict.fromkeys(_API_NAMES, "bertlab.api"),
    "BertlabError": "bertlab.config.errors",
    "default_checkpoint": "bertlab.tasks.registry",
    "find_shipped_checkpoints": "bertlab.checkpoints.locate",
}


def __getattr__(name: str):
    if name in __all__:
        return getattr(import_module(_MODULES.get(name, _DEFAULT_MODULE)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
