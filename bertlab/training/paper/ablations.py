"""The paper's ablations as rows: what is trained in each line of tables 5 to 8, and what the paper found there.

Devlin et al. 2019 (arXiv 1810.04805), section 5 and appendix C.2; development-set figures. Standard library only; knows
no run.
"""

from dataclasses import dataclass, field
from typing import Literal

Way = Literal["pretrain", "finetune", "features"]


@dataclass(frozen=True)
class Column:
    """A measure. task: what it is taken on here, of `config.tasks`; "ner" for the entity task that is asked for.
    paper: what the paper took it on, nothing where it took no such measure. way: from pre-training itself, after
    fine-tuning, or on a frozen encoder. metric: of the task's, if not its first. lower: whether less is better.
    optional: measured only where it is asked for."""

    title: str
    way: Way
    task: str = ""
    paper: str = ""
    metric: str = ""
    lower: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Row:
    """A line of a table. pretrained: which of the table's pre-trainings it stands on. paper: its figures there, by
    column. lstm: a BiLSTM on the encoder. pick: of `nn.bilstm.PICKS`, where the encoder is frozen."""

    title: str
    pretrained: str
    paper: dict[str, float]
    lstm: bool = False
    pick: str = "concat-4"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """pretrainings: changes to a `PretrainConfig`, by name; none where all rows stand on a finished checkpoint.
    against: the row that the others are compared with; the first if not given."""

    title: str
    source: str
    columns: dict[str, Column]
    rows: dict[str, Row]
    pretrainings: dict[str, dict] = field(default_factory=dict)
    against: str = ""

    @property
    def begin(self) -> str:
        """The row that the others are compared with."""
        return self.against or next(iter(self.rows))


def _rows(columns: tuple[str, ...], **lines: tuple) -> dict[str, Row]:
    """Rows from (title, figures..., changes?) in the order of the columns."""
    found = {}
    for name, (title, *values) in lines.items():
        more = values.pop() if isinstance(values[-1], dict) else {}
        key = name.replace("_", "-")
        paper = {c: v for c, v in zip(columns, values, strict=True) if v is not None}
        found[key] = Row(title, **{"pretrained": key, "paper": paper} | more)
    return found


_SENTENCES = {
    "mrpc": Column("MRPC", "finetune", "mrpc", "MRPC", metric="accuracy"),
    "sst2": Column("SST-2", "finetune", "sst2", "SST-2"),
}
_NER = Column("NER F1, fine-tuned", "finetune", "ner", "CoNLL-2003")
_NER_FROZEN = Column("NER F1, feature-based", "features", "ner", "CoNLL-2003")


def _masks(mask: float, same: float, rnd: float) -> dict:
    return {"mask_share": mask / 100, "random_share": rnd / 100}


TABLES = {
    # questions need more reading than two cores have time for; entities are told from both sides too, and sooner
    "table5": Table(
        "What the pre-training tasks do",
        "table 5, section 5.1",
        {
            **_SENTENCES,
            "squad": Column("SQuAD F1", "finetune", "squad", "SQuAD v1.1"),
            "ner": Column("NER F1", "finetune", "ner", optional=True),
        },
        _rows(
            ("mrpc", "sst2", "squad", "ner"),
            bert=("BERT", 86.7, 92.7, 88.5, None),
            no_nsp=("no NSP", 86.5, 92.6, 87.9, None),
            left_to_right=("left-to-right, no NSP", 77.5, 92.1, 77.8, None),
            bilstm=("+ BiLSTM", 75.7, 91.6, 84.9, None, {"pretrained": "left-to-right", "lstm": True}),
        ),
        {"bert": {}, "no-nsp": {"second": "none"}, "left-to-right": {"second": "none", "left_to_right": True}},
    ),
    # the paper's sizes, three to twenty-four layers of 768 and 1024, in the same proportions for two cores
    "table6": Table(
        "What the size of the model does",
        "table 6, section 5.2",
        {"perplexity": Column("LM perplexity", "pretrain", lower=True), **_SENTENCES},
        _rows(
            ("perplexity", "mrpc", "sst2"),
            l1=("1 x 128, 4 heads (3 x 768, 12)", 5.84, 79.8, 88.4),
            l2_a1=("2 x 128, 1 head (6 x 768, 3)", 5.24, 82.2, 90.7),
            l2=("2 x 128, 4 heads (6 x 768, 12)", 4.68, 84.8, 91.3),
            l4=("4 x 128, 4 heads (12 x 768, 12)", 3.99, 86.7, 92.9),
            l4_h192=("4 x 192, 6 heads (12 x 1024, 16)", 3.54, 86.9, 93.3),
            l8_h192=("8 x 192, 6 heads (24 x 1024, 16)", 3.23, 87.8, 93.7),
        ),
        {
            "l1": {"layers": 1, "hidden": 128, "attention_heads": 4},
            "l2-a1": {"layers": 2, "hidden": 128, "attention_heads": 1},
            "l2": {"layers": 2, "hidden": 128, "attention_heads": 4},
            "l4": {"layers": 4, "hidden": 128, "attention_heads": 4},
            "l4-h192": {"layers": 4, "hidden": 192, "attention_heads": 6},
            "l8-h192": {"layers": 8, "hidden": 192, "attention_heads": 6},
        },
        against="l4",
    ),
    "table7": Table(
        "An encoder as it is: which layers' features",
        "table 7, section 5.3",
        {"ner": _NER, "ner-frozen": _NER_FROZEN},
        _rows(
            ("ner", "ner-frozen"),
            finetuned=("fine-tuned whole", 96.4, None, {"columns": ("ner",)}),
            embeddings=("embeddings", None, 91.0, {"pick": "embeddings", "columns": ("ner-frozen",)}),
            second=("second-to-last layer", None, 95.6, {"pick": "second-to-last", "columns": ("ner-frozen",)}),
            last=("last layer", None, 94.9, {"pick": "last", "columns": ("ner-frozen",)}),
            sum_4=("weighted sum of the last four", None, 95.9, {"pick": "sum-4", "columns": ("ner-frozen",)}),
            concat_4=("last four concatenated", None, 96.1, {"pick": "concat-4", "columns": ("ner-frozen",)}),
            sum_all=("weighted sum of all layers", None, 95.5, {"pick": "sum-all", "columns": ("ner-frozen",)}),
        ),
        against="last",
    ),
    # [MASK], the same, a random word; in MNLI's place, whose rows are many, SST-2
    "table8": Table(
        "What stands where a word was: [MASK], itself, another",
        "table 8, appendix C.2",
        {
            "sst2": Column("SST-2", "finetune", "sst2", "MNLI"),
            "ner": _NER,
            "ner-frozen": _NER_FROZEN,
        },
        _rows(
            ("sst2", "ner", "ner-frozen"),
            m80_s10_r10=("80 / 10 / 10", 84.2, 95.4, 94.9),
            m100_s0_r0=("100 / 0 / 0", 84.3, 94.9, 94.0),
            m80_s0_r20=("80 / 0 / 20", 84.1, 95.2, 94.6),
            m80_s20_r0=("80 / 20 / 0", 84.4, 95.2, 94.7),
            m0_s20_r80=("0 / 20 / 80", 83.7, 94.8, 94.6),
            m0_s0_r100=("0 / 0 / 100", 83.6, 94.9, 94.6),
        ),
        {
            f"m{m}-s{s}-r{r}": _masks(m, s, r)
            for m, s, r in ((80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0), (0, 20, 80), (0, 0, 100))
        },
    ),
}
