"""The five Korean tasks, and published results of Korean and multilingual BERTs on them, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

from bertlab.config.paper import Measure

# the sources of published results
KPFBERT = "https://github.com/KPFBERT/kpfbert"
KLUE = "https://github.com/KLUE-benchmark/KLUE"
BASE_SIZE = (12, 768)  # the number of layers and the hidden size of BERT-base

# the columns of the results: a metric on each of the five tasks
KOREAN_MEASURES = (
    Measure("nsmc", "accuracy", "NSMC"),
    Measure("klue_ner", "entity_f1_macro", "KLUE-NER"),
    Measure("klue_sts", "pearson", "KLUE-STS"),
    Measure("klue_nli", "accuracy", "KLUE-NLI"),
    Measure("korquad", "f1", "KorQuAD v1"),
)


@dataclass(frozen=True)
class KoreanResults:
    """The results of one model on Korean tasks, from one source."""

    title: str  # the model
    size: tuple[int, int]  # the number of layers and the hidden size of the model
    source: str  # the address of the publication
    values: Mapping[str, float]  # the results in percent, by `Measure.name`


def _make_row(title: str, source: str, **values: float) -> KoreanResults:
    names = {measure.task: measure.name for measure in KOREAN_MEASURES}
    return KoreanResults(title, BASE_SIZE, source, {names[task]: value for task, value in values.items()})


# The README of kpfBERT, measured in October 2021: NSMC on the 50,000 rows of its test set, the others on development
# sets. The README of KLUE does not name the split; its entity F1 is the mean over the entity types.
PUBLISHED_KOREAN = (
    _make_row("kpfBERT", KPFBERT, nsmc=91.29, klue_sts=92.95, klue_nli=87.67, korquad=94.95),
    _make_row("KLUE-BERT", KPFBERT, nsmc=90.62, klue_sts=91.14, klue_nli=81.33, korquad=93.23),
    _make_row("KLUE-BERT", KLUE, klue_ner=84.77, klue_sts=90.85, klue_nli=81.63),
    _make_row("KoBERT", KPFBERT, nsmc=89.92, klue_sts=86.17, klue_nli=79.53, korquad=71.36),
    _make_row("multilingual BERT", KPFBERT, nsmc=87.33, klue_sts=85.66, klue_nli=73.30, korquad=90.02),
    _make_row("multilingual BERT", KLUE, klue_ner=75.14, klue_sts=84.66, klue_nli=73.20),
)
