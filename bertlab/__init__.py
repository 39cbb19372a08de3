"""Train BERT, fine-tune it, and look inside it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors; at run time `__getattr__` imports what is used
    from bertlab.api import EvaluationResult, PreparedCorpus, TrainingResult, evaluate, finetune, prepare, pretrain
    from bertlab.checkpoints.locate import shipped
    from bertlab.config.errors import BertlabError
    from bertlab.explore.predictor import (
        Answers,
        Choice,
        Classification,
        JointFill,
        MaskFill,
        NextSentence,
        Tags,
        TokenRow,
    )
    from bertlab.explore.session import (
        AttentionMap,
        HeadEffects,
        HeadRoles,
        InputMap,
        Lens,
        NeuronMap,
        PredictionChange,
        Session,
        SpanAttention,
        SpanXray,
        WordEffects,
        default_checkpoint,
        load,
    )

__version__ = "0.1.0"
__all__ = [
    "Answers", "AttentionMap", "BertlabError", "Choice", "Classification", "EvaluationResult", "HeadEffects",
    "HeadRoles", "InputMap", "JointFill", "Lens", "MaskFill", "NeuronMap", "NextSentence", "PredictionChange",
    "PreparedCorpus", "Session", "SpanAttention", "SpanXray", "Tags", "TokenRow", "TrainingResult", "WordEffects",
    "default_checkpoint", "evaluate", "finetune", "load", "prepare", "pretrain", "shipped",
]  # fmt: skip

_PREDICTIONS = (
    "Answers", "Choice", "Classification", "JointFill", "MaskFill", "NextSentence", "Tags", "TokenRow",
)  # fmt: skip
_API = ("EvaluationResult", "PreparedCorpus", "TrainingResult", "evaluate", "finetune", "prepare", "pretrain")
# The module that defines each public name; all other names are in bertlab.explore.session.
_HOMES = {
    **dict.fromkeys(_API, "bertlab.api"),
    **dict.fromkeys(_PREDICTIONS, "bertlab.explore.predictor"),
    "BertlabError": "bertlab.config.errors",
    "shipped": "bertlab.checkpoints.locate",
}


def __getattr__(name: str):
    # torch takes seconds to import, so it is imported only when a name that needs it is used.
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "bertlab.explore.session")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
