"""The catalogue of tasks to fine-tune on, one row each. This module imports no third-party package.

Some data sets are published as scripts, which `datasets` no longer runs. Their hub ids end in
"@refs/convert/parquet": the rows are read from the Parquet files to which the hub has converted them.
"""

from dataclasses import dataclass, replace
from typing import Literal

from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message


@dataclass(frozen=True)
class TaskSpec:
    """A task: its type, the source of its data, and the columns of its rows."""

    kind: str  # the task type, a name of `tasks.registry.TASK_TYPES`
    hub_id: str
    """The data set on the hub: "owner/name", followed by ":configuration" and "@revision" if needed; "" if it is not on
    the hub."""
    language: str  # the language of the texts ("en"); "" if unknown
    metrics: tuple[str, ...]  # the names of its metrics. The first one is used to compare runs
    source: str  # the publication that defines the task and its metrics
    unanswerable: bool = False  # whether some questions have no answer
    text: tuple[str, ...] = ()
    """The columns of the input, in an order that depends on the task type. For most types: the text or the two texts.
    Multiple choice: the context, then one column with a list of choices or one column for each choice. Tagging: the
    words or characters. Spans: the passage and the question."""
    choice_prefix_column: str = ""
    """For multiple choice: the column of the text with which every choice begins; "" if there is none."""
    label: tuple[str, ...] = ("label",)
    """The column of the label; if several names are given, the first one that exists."""
    labels: tuple[str, ...] = ()
    """The labels in the order of their numbers in the data; () if the column contains names, or if the labels of the
    task type have no names (values, choices, spans)."""
    id: str = "id"  # the column of the unique id of every row; "" if there is none
    validation: tuple[str, ...] = ("validation",)  # the splits to evaluate on
    test: tuple[str, ...] = ("test",)  # the test splits, which often have no labels, for example in GLUE
    submission: tuple[str, ...] = ()
    """The names of the submission files that the benchmark expects, one for each test split."""
    submits_label_names: bool = False
    """Whether the submission files contain the names of the labels instead of their numbers."""
    unit: Literal["word", "character"] = "word"  # the unit of text that has one tag

    def replace(self, **changes) -> "TaskSpec":
        return replace(self, **changes)


def _make_glue_task(
    name: str,
    text: tuple[str, ...],
    metrics: tuple[str, ...],
    labels: tuple[str, ...],
    file: str,
    source: str,
    **fields,
) -> TaskSpec:
    """Make a task of GLUE; `file` is the name of its submission file without ".tsv".

    Source: Wang et al. 2018 (arXiv 1804.07461); Devlin et al. 2019, section 4.1 and appendix B.1.
    """
    row = TaskSpec("classification", f"nyu-mll/glue:{name}", "en", metrics, source, text=text, labels=labels, id="idx")
    return row.replace(submission=(f"{file}.tsv",), **fields)


def make_span_task(hub_id: str, source: str, language: str = "en", **fields) -> TaskSpec:
    """Make a question-answering task whose data has the columns of SQuAD."""
    row = TaskSpec("span", hub_id, language, ("f1", "exact_match"), source, label=("answers", "answer"))
    return row.replace(text=("context", "question"), **fields)


def _make_entity_task(hub_id: str, types: str, source: str, language: str = "en", **fields) -> TaskSpec:
    """Make a named-entity task with IOB2 tags."""
    labels = tuple(tag for name in types.split() for tag in (["O"] if name == "O" else [f"B-{name}", f"I-{name}"]))
    row = TaskSpec("tagging", hub_id, language, ("entity_f1", "entity_precision", "entity_recall"), source)
    return row.replace(text=("tokens",), label=("ner_tags",), labels=labels, **fields)


def _make_vector_task(hub_id: str, language: str, source: str, labels: tuple[str, ...] = (), **fields) -> TaskSpec:
    """Make a sentence-vector task on pairs of texts."""
    metrics = ("retrieval_accuracy",) if labels else ("spearman", "pearson")
    row = TaskSpec("sentence_embedding", hub_id, language, metrics, source, text=("sentence1", "sentence2"))
    return row.replace(labels=labels, **fields)


# the labels of natural-language inference, for tasks with two and with three labels
_ENTAILMENT_LABELS = ("entailment", "not_entailment")
_NLI_LABELS = ("entailment", "neutral", "contradiction")
_PARQUET = "@refs/convert/parquet"  # the revision with Parquet files (see the module's docstring)

# name -> task
TASKS = {
    # -- GLUE, in the order of the paper's table 1 --
    "mnli": _make_glue_task(
        "mnli", ("premise", "hypothesis"), ("accuracy",), _NLI_LABELS, "MNLI-m", "arXiv 1704.05426",
        submits_label_names=True, validation=("validation_matched", "validation_mismatched"),
        test=("test_matched", "test_mismatched"),
    ).replace(submission=("MNLI-m.tsv", "MNLI-mm.tsv")),
    "qqp": _make_glue_task(
        "qqp", ("question1", "question2"), ("f1", "accuracy"), ("not_duplicate", "duplicate"), "QQP",
        "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs",
    ),
    "qnli": _make_glue_task(
        "qnli", ("question", "sentence"), ("accuracy",), _ENTAILMENT_LABELS, "QNLI", "arXiv 1804.07461",
        submits_label_names=True,
    ),
    "sst2": _make_glue_task(
        "sst2", ("sentence",), ("accuracy",), ("negative", "positive"), "SST-2", "https://aclanthology.org/D13-1170",
    ),
    "cola": _make_glue_task(
        "cola", ("sentence",), ("matthews", "accuracy"), ("unacceptable", "acceptable"), "CoLA", "arXiv 1805.12471",
    ),
    "stsb": _make_glue_task(
        "stsb", ("sentence1", "sentence2"), ("spearman", "pearson"), (), "STS-B", "https://aclanthology.org/S17-2001",
        kind="regression",
    ),
    "mrpc": _make_glue_task(
        "mrpc", ("sentence1", "sentence2"), ("f1", "accuracy"), ("not_equivalent", "equivalent"), "MRPC",
        "https://aclanthology.org/I05-5002",
    ),
    "rte": _make_glue_task(
        "rte", ("sentence1", "sentence2"), ("accuracy",), _ENTAILMENT_LABELS, "RTE", "arXiv 1804.07461",
        submits_label_names=True,
    ),
    # -- the other tasks of the paper --
    # Rajpurkar et al. 2016; Devlin et al. 2019, section 4.2
    "squad": make_span_task("rajpurkar/squad", "arXiv 1606.05250"),
    # Rajpurkar et al. 2018; Devlin et al. 2019, section 4.3
    "squad_v2": make_span_task("rajpurkar/squad_v2", "arXiv 1806.03822", unanswerable=True),
    # Devlin et al. 2019, section 4.4; every choice completes the second sentence, whose beginning is given.
    "swag": TaskSpec(
        "multiple_choice", "allenai/swag:regular", "en", ("accuracy",), "arXiv 1808.05326",
        choice_prefix_column="sent2",
        text=("sent1", "ending0", "ending1", "ending2", "ending3"), id="",
    ),
    # Devlin et al. 2019, section 5.3
    "conll2003": _make_entity_task(
        f"eriktks/conll2003{_PARQUET}", "O PER ORG LOC MISC", "https://aclanthology.org/W03-0419",
    ),
    # -- more English --
    "wnut17": _make_entity_task(
        f"leondz/wnut_17{_PARQUET}", "O corporation creative-work group location person product",
        "https://aclanthology.org/W17-4418",
    ),
    "wikiann_en": _make_entity_task(
        "unimelb-nlp/wikiann:en", "O PER ORG LOC", "https://aclanthology.org/P17-1178", id="",
    ),
    # Subtask B: which sentence explains why the statement makes no sense?
    "comve": TaskSpec("multiple_choice", "", "en", ("accuracy",), "arXiv 2007.00236", text=("context", "choices")),
    # -- Korean --
    "nsmc": TaskSpec(
        "classification", f"e9t/nsmc{_PARQUET}", "ko", ("accuracy",), "https://github.com/e9t/nsmc",
        text=("document",), labels=("negative", "positive"), validation=("test",), test=(),
    ),
    # KLUE: Park et al. 2021
    "klue_nli": TaskSpec(
        "classification", "klue/klue:nli", "ko", ("accuracy",), "arXiv 2105.09680", id="guid", labels=_NLI_LABELS,
        text=("premise", "hypothesis"), test=(),
    ),
    # f1_from_3: F1 of the sentence pairs with a value of at least 3, which count as paraphrases
    "klue_sts": TaskSpec(
        "regression", "klue/klue:sts", "ko", ("pearson", "spearman", "f1_from_3"), "arXiv 2105.09680",
        text=("sentence1", "sentence2"), label=("label", "labels.label"), id="guid", test=(),
    ),
    "klue_ner": _make_entity_task(
        "klue/klue:ner", "DT LC OG PS QT TI O", "arXiv 2105.09680", "ko", unit="character", id="", test=(),
    ).replace(metrics=("entity_f1_macro", "character_f1_macro", "entity_f1")),
    "klue_mrc": make_span_task(
        "klue/klue:mrc", "arXiv 2105.09680", "ko", id="guid", test=(), unanswerable=True,
        metrics=("rouge_w", "exact_match"),
    ),
    "korquad": make_span_task(f"KorQuAD/squad_kor_v1{_PARQUET}", "arXiv 1909.07005", "ko", test=()),
    # -- the story world: `bertlab story-world questions` writes the rows; the metrics are those of squad_v2, korquad --
    "story_qa": make_span_task("", "arXiv 1806.03822", unanswerable=True, test=()),
    "story_qa_ko": make_span_task("", "arXiv 1909.07005", "ko", unanswerable=True, test=()),
    # -- sentence vectors: the cosine is fitted to the similarity of pairs, or entailed texts are ranked above others --
    # Reimers and Gurevych 2019, sections 4.1 and 6
    "stsb_vectors": _make_vector_task("nyu-mll/glue:stsb", "en", "https://aclanthology.org/S17-2001", id="idx"),
    "klue_sts_vectors": _make_vector_task(
        "klue/klue:sts", "ko", "arXiv 2105.09680", label=("label", "labels.label"), id="guid", test=(),
    ),
    "all_nli_vectors": _make_vector_task(
        "sentence-transformers/all-nli:triplet", "en", "arXiv 1908.10084", (_ENTAILMENT_LABELS[0],),
        text=("anchor", "positive", "negative"), validation=("dev",), id="",
    ),
    "klue_nli_vectors": _make_vector_task(
        "klue/klue:nli", "ko", "arXiv 2105.09680", _NLI_LABELS, id="guid", text=("premise", "hypothesis"), test=(),
    ),
}  # fmt: skip

CUSTOM_TASK = "custom"  # the name of a task that the user describes by flags
# task that bertlab leaves out on purpose -> the reason
EXCLUDED_TASKS = {"wnli": Message("task-excluded-wnli")}


def register_task(name: str, spec: TaskSpec) -> None:
    """Add a task to the catalogue, for example one that is defined outside this package."""
    TASKS[name] = spec


def get_task(name: str) -> TaskSpec:
    """Return a task of the catalogue by its name.

    >>> get_task("squad").kind
    'span'
    """
    if name in EXCLUDED_TASKS:
        raise BertlabError("task-excluded", task=name.upper(), reason=EXCLUDED_TASKS[name])
    if name not in TASKS:
        raise BertlabError("task-unknown", task=name, tasks=list(TASKS))
    return TASKS[name]
