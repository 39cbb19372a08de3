"""The tasks a BERT is fine-tuned on, one row each; a new task is a new row. Standard library only.

Where a hub id ends in "@refs/convert/parquet" the data set there is a script, which `datasets` no longer runs, and its
rows are read from the Parquet files that the hub makes of it.
"""

from dataclasses import dataclass, replace
from typing import Literal

from bertlab.config.errors import BertlabError

Kind = Literal["classify", "regress", "choose", "tag", "span"]
KINDS: tuple[str, ...] = ("classify", "regress", "choose", "tag", "span")


@dataclass(frozen=True)
class TaskSpec:
    """kind: which head, features, objective and decoder it takes. hub_id: where its rows are published, "owner/name",
    with ":configuration" and "@revision" where it has them; "" where it is not. source: who defined it and its measure.
    metrics: as `tasks.metrics` names them; the first one says which of two runs is better.

    text: the columns of the first and the second text; for choose, the context, then either one column with a list of
    choices, or one column each; for tag, the tokens; for span, the passage and the question. start: for choose, a
    column that every choice begins with.
    label: the column of the answer, and what others call it. labels: what the numbers in it mean, in their order; ()
    where the column itself holds names. id: the column that tells rows apart.
    validation, test: the splits that are measured, and those without answers. submission: the file a benchmark wants
    for each test split. names: whether it wants the labels' names there, and not their numbers.
    unit: whether a tag belongs to a word or to a character.
    """

    kind: Kind
    hub_id: str
    language: str
    metrics: tuple[str, ...]
    source: str
    unanswerable: bool = False
    text: tuple[str, ...] = ()
    start: str = ""
    label: tuple[str, ...] = ("label",)
    labels: tuple[str, ...] = ()
    id: str = "id"
    validation: tuple[str, ...] = ("validation",)
    test: tuple[str, ...] = ("test",)
    submission: tuple[str, ...] = ()
    names: bool = False
    unit: Literal["word", "character"] = "word"

    @property
    def max_tokens(self) -> int:
        """Tokens of an input where nothing else is asked for."""
        return 384 if self.kind == "span" else 128

    @property
    def epochs(self) -> float:
        """Times to go through the data where nothing else is asked for."""
        return 2.0 if self.kind == "span" else 3.0

    def replace(self, **changes) -> "TaskSpec":
        return replace(self, **changes)


def _glue(
    name: str, text: tuple[str, ...], metrics: tuple[str, ...], labels: tuple[str, ...], file: str, source: str, **more
) -> TaskSpec:
    """A row of GLUE (Wang et al. 2018, arXiv 1804.07461); Devlin et al. 2019, section 4.1 and appendix B.1."""
    row = TaskSpec("classify", f"nyu-mll/glue:{name}", "en", metrics, source, text=text, labels=labels, id="idx")
    return row.replace(submission=(f"{file}.tsv",), **more)


def questions(hub_id: str, source: str, language: str = "en", **more) -> TaskSpec:
    """Answers in passages, in the columns of SQuAD; without hub id and language, anybody's."""
    row = TaskSpec("span", hub_id, language, ("f1", "exact_match"), source, label=("answers", "answer"))
    return row.replace(text=("context", "question"), **more)


def _tags(hub_id: str, types: str, source: str, language: str = "en", **more) -> TaskSpec:
    """Entities in IOB2 tags, measured as `conlleval` does; their order is that of the hub's numbers."""
    labels = tuple(tag for name in types.split() for tag in (["O"] if name == "O" else [f"B-{name}", f"I-{name}"]))
    row = TaskSpec("tag", hub_id, language, ("entity_f1", "entity_precision", "entity_recall"), source)
    return row.replace(text=("tokens",), label=("ner_tags",), labels=labels, **more)


_ENTAILED, _PARQUET = ("entailment", "not_entailment"), "@refs/convert/parquet"
_NLI = ("entailment", "neutral", "contradiction")

TASKS = {
    # -- GLUE, in the order of the paper's table 1 --
    "mnli": _glue("mnli", ("premise", "hypothesis"), ("accuracy",), _NLI, "MNLI-m", "arXiv 1704.05426", names=True,
                  validation=("validation_matched", "validation_mismatched"),
                  test=("test_matched", "test_mismatched")).replace(submission=("MNLI-m.tsv", "MNLI-mm.tsv")),
    "qqp": _glue("qqp", ("question1", "question2"), ("f1", "accuracy"), ("not_duplicate", "duplicate"), "QQP",
                 "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs"),
    "qnli": _glue("qnli", ("question", "sentence"), ("accuracy",), _ENTAILED, "QNLI", "arXiv 1804.07461", names=True),
    "sst2": _glue("sst2", ("sentence",), ("accuracy",), ("negative", "positive"), "SST-2",
                  "https://aclanthology.org/D13-1170"),
    "cola": _glue("cola", ("sentence",), ("matthews", "accuracy"), ("unacceptable", "acceptable"), "CoLA",
                  "arXiv 1805.12471"),
    "stsb": _glue("stsb", ("sentence1", "sentence2"), ("spearman", "pearson"), (), "STS-B",
                  "https://aclanthology.org/S17-2001", kind="regress"),
    "mrpc": _glue("mrpc", ("sentence1", "sentence2"), ("f1", "accuracy"), ("not_equivalent", "equivalent"), "MRPC",
                  "https://aclanthology.org/I05-5002"),
    "rte": _glue("rte", ("sentence1", "sentence2"), ("accuracy",), _ENTAILED, "RTE", "arXiv 1804.07461", names=True),
    # -- the other tasks of the paper --
    # Rajpurkar et al. 2016; Devlin et al. 2019, section 4.2
    "squad": questions("rajpurkar/squad", "arXiv 1606.05250"),
    # Rajpurkar et al. 2018; Devlin et al. 2019, section 4.3
    "squad_v2": questions("rajpurkar/squad_v2", "arXiv 1806.03822", unanswerable=True),
    # Devlin et al. 2019, section 4.4; of the two sentences the second is only begun, and every choice goes on with it
    "swag": TaskSpec("choose", "allenai/swag:regular", "en", ("accuracy",), "arXiv 1808.05326", start="sent2",
                     text=("sent1", "ending0", "ending1", "ending2", "ending3"), id=""),
    # Devlin et al. 2019, section 5.3
    "conll2003": _tags(f"eriktks/conll2003{_PARQUET}", "O PER ORG LOC MISC", "https://aclanthology.org/W03-0419"),
    # -- more English --
    "wnut17": _tags(f"leondz/wnut_17{_PARQUET}", "O corporation creative-work group location person product",
                    "https://aclanthology.org/W17-4418"),
    "wikiann_en": _tags("unimelb-nlp/wikiann:en", "O PER ORG LOC", "https://aclanthology.org/P17-1178", id=""),
    # subtask B: which sentence says why the statement makes no sense
    "comve": TaskSpec("choose", "", "en", ("accuracy",), "arXiv 2007.00236", text=("context", "choices")),
    # -- Korean --
    "nsmc": TaskSpec("classify", f"e9t/nsmc{_PARQUET}", "ko", ("accuracy",), "https://github.com/e9t/nsmc",
                     text=("document",), labels=("negative", "positive"), validation=("test",), test=()),
    # KLUE: Park et al. 2021
    "klue_nli": TaskSpec("classify", "klue/klue:nli", "ko", ("accuracy",), "arXiv 2105.09680", labels=_NLI, id="guid",
                         text=("premise", "hypothesis"), test=()),
    "klue_sts": TaskSpec("regress", "klue/klue:sts", "ko", ("pearson", "spearman", "f1_from_3"), "arXiv 2105.09680",
                         text=("sentence1", "sentence2"), label=("label", "labels.label"), id="guid", test=()),
    "klue_ner": _tags("klue/klue:ner", "DT LC OG PS QT TI O", "arXiv 2105.09680", "ko", unit="character", id="",
                      test=()).replace(metrics=("entity_f1_macro", "character_f1_macro", "entity_f1")),
    "klue_mrc": questions("klue/klue:mrc", "arXiv 2105.09680", "ko", id="guid", test=(), unanswerable=True,
                          metrics=("rouge_w", "exact_match")),
    "korquad": questions(f"KorQuAD/squad_kor_v1{_PARQUET}", "arXiv 1909.07005", "ko", test=()),
}  # fmt: skip

LEFT_OUT = {
    "wnli": "as the paper does (section 4.1): its dev set repeats the training set's sentences with "
    "the other label, so no model had done better than always giving the commonest answer, 65.1 % "
    "(https://gluebenchmark.com/faq, question 12)",
}


# a prediction whose heads can be silenced -> what the checkpoint that suits it is asked for
WATCHED = {"mask": "fill-mask", "nsp": "nsp", "span": "answer", "classify": "classify"}


def task(name: str) -> TaskSpec:
    """A task by name.

    Raises:
        BertlabError: there is none of that name, or why it is left out.

    >>> task("squad").kind
    'span'
    """
    if name in LEFT_OUT:
        raise BertlabError(f"{name.upper()} is left out, {LEFT_OUT[name]}")
    if name not in TASKS:
        raise BertlabError(f"no task is called {name!r}; there are {', '.join(TASKS)}, and `own` for your own data")
    return TASKS[name]
