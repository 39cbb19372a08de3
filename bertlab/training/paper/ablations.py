"""The paper's ablations as data: the models of the rows of tables 5 to 8, and the paper's development-set results.

Source: Devlin et al. 2019 (arXiv 1810.04805), section 5 and appendix C.2.
"""

from dataclasses import dataclass, field
from typing import Literal

# How the metric of a column is obtained; see `Column.method`.
Method = Literal["pretrain", "finetune", "features"]


@dataclass(frozen=True)
class Column:
    """A column of a table: a metric on a task."""

    title: str  # the heading of the column
    method: Method
    """How the metric is obtained: "pretrain", in the pre-training itself; "finetune", by fine-tuning; "features", by
    training a tagger on features of a frozen encoder."""
    task: str = ""  # a task of `config.tasks`, "ner" for the task that `--ner` names, or "" for pre-training
    paper_task: str = ""  # the task of this column in the paper, shown in brackets in the heading; "" shows nothing
    metric: str = ""
    """The metric; "" for the first one of the task; ignored for "pretrain", whose value is the perplexity."""
    lower_is_better: bool = False  # whether lower values are better
    is_optional: bool = False  # whether the column is computed only if `--columns` names it


@dataclass(frozen=True)
class Row:
    """A row of a table: a model."""

    title: str  # the heading of the row
    pretrained: str
    """The model that the row starts from: the key of its pre-training run in `Table.pretrainings`. It is ignored if the
    table has no pre-training runs."""
    paper_results: dict[str, float]  # the paper's results by column
    has_lstm: bool = False  # whether a BiLSTM is trained on top of the encoder
    feature_layers: str = "concat-4"
    """For a frozen encoder, the layers whose features are used: one of `nn.bilstm.FEATURE_LAYERS`."""
    columns: tuple[str, ...] = ()  # the columns of this row; () for all columns of the table


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    title: str  # what the table compares
    source: str  # the number of the table and its section in the paper
    columns: dict[str, Column]  # the columns by name
    rows: dict[str, Row]  # the rows by name
    pretrainings: dict[str, dict] = field(default_factory=dict)
    """The pre-training runs: name -> changed fields of `PretrainConfig`. Empty if all rows start from the checkpoint of
    `--from`."""
    reference: str = ""  # the name of the row that the others are compared with; "" for the first row

    @property
    def reference_row(self) -> str:
        """The name of the row that the others are compared with."""
        return self.reference or next(iter(self.rows))


def _make_rows(columns: tuple[str, ...], **rows: tuple) -> dict[str, Row]:
    """Make rows: name with underscores -> (title, the paper's results by column, optionally other fields of `Row`)."""
    table_rows = {}
    for identifier, (title, *values) in rows.items():
        changes = values.pop() if isinstance(values[-1], dict) else {}
        name = identifier.replace("_", "-")
        paper_results = {column: value for column, value in zip(columns, values, strict=True) if value is not None}
        table_rows[name] = Row(title, **{"pretrained": name, "paper_results": paper_results} | changes)
    return table_rows


# These columns are in several tables.
_SENTENCE_COLUMNS = {
    "mrpc": Column("MRPC", "finetune", "mrpc", "MRPC", metric="accuracy"),
    "sst2": Column("SST-2", "finetune", "sst2", "SST-2"),
}
_NER = Column("NER F1, fine-tuned", "finetune", "ner", "CoNLL-2003")
_NER_FROZEN = Column("NER F1, feature-based", "features", "ner", "CoNLL-2003")


def _make_frozen_fields(feature_layers: str) -> dict:
    return {"feature_layers": feature_layers, "columns": ("ner-frozen",)}


def _make_size_settings(layers: int, hidden: int, attention_heads: int) -> dict:
    return {"layers": layers, "hidden": hidden, "attention_heads": attention_heads}


# Name of a table, as in `bertlab reproduce` -> the table.
TABLES = {
    # The table has the paper's SQuAD column, but differences appear in it only after more pre-training than is
    # practical on two CPU cores, for which these tables are designed. NER also depends on context on both sides, and
    # shows such differences sooner. The paper's table has no column for NER, so this column is optional.
    "table5": Table(
        "Effect of the pre-training tasks",
        "table 5, section 5.1",
        {
            **_SENTENCE_COLUMNS,
            "squad": Column("SQuAD F1", "finetune", "squad", "SQuAD v1.1"),
            "ner": Column("NER F1", "finetune", "ner", is_optional=True),
        },
        _make_rows(
            ("mrpc", "sst2", "squad", "ner"),
            bert=("BERT", 86.7, 92.7, 88.5, None),
            no_nsp=("no NSP", 86.5, 92.6, 87.9, None),
            left_to_right=("left-to-right, no NSP", 77.5, 92.1, 77.8, None),
            bilstm=("+ BiLSTM", 75.7, 91.6, 84.9, None, {"pretrained": "left-to-right", "has_lstm": True}),
        ),
        {
            "bert": {},
            "no-nsp": {"pair_objective": "none"},
            "left-to-right": {"pair_objective": "none", "left_to_right": True},
        },
    ),
    # The paper's models have 3 to 24 layers with hidden sizes 768 and 1024. To suit two CPU cores, our models have a
    # third of the layers, and hidden sizes and heads in similar proportions. Each title gives layers x hidden size and
    # attention heads; the values of the paper's model are in brackets.
    "table6": Table(
        "Effect of the model size",
        "table 6, section 5.2",
        {"perplexity": Column("LM perplexity", "pretrain", lower_is_better=True), **_SENTENCE_COLUMNS},
        _make_rows(
            ("perplexity", "mrpc", "sst2"),
            l1=("1 x 128, 4 heads (3 x 768, 12)", 5.84, 79.8, 88.4),
            l2_a1=("2 x 128, 1 head (6 x 768, 3)", 5.24, 82.2, 90.7),
            l2=("2 x 128, 4 heads (6 x 768, 12)", 4.68, 84.8, 91.3),
            l4=("4 x 128, 4 heads (12 x 768, 12)", 3.99, 86.7, 92.9),
            l4_h192=("4 x 192, 6 heads (12 x 1024, 16)", 3.54, 86.9, 93.3),
            l8_h192=("8 x 192, 6 heads (24 x 1024, 16)", 3.23, 87.8, 93.7),
        ),
        {
            "l1": _make_size_settings(1, 128, 4),
            "l2-a1": _make_size_settings(2, 128, 1),
            "l2": _make_size_settings(2, 128, 4),
            "l4": _make_size_settings(4, 128, 4),
            "l4-h192": _make_size_settings(4, 192, 6),
            "l8-h192": _make_size_settings(8, 192, 6),
        },
        reference="l4",
    ),
    "table7": Table(
        "Which layers of a frozen encoder give the best features",
        "table 7, section 5.3",
        {"ner": _NER, "ner-frozen": _NER_FROZEN},
        _make_rows(
            ("ner", "ner-frozen"),
            finetuned=("fine-tuned, all layers", 96.4, None, {"columns": ("ner",)}),
            embeddings=("embeddings", None, 91.0, _make_frozen_fields("embeddings")),
            second=("second-to-last layer", None, 95.6, _make_frozen_fields("second-to-last")),
            last=("last layer", None, 94.9, _make_frozen_fields("last")),
            sum_4=("weighted sum of the last four", None, 95.9, _make_frozen_fields("sum-4")),
            concat_4=("last four concatenated", None, 96.1, _make_frozen_fields("concat-4")),
            sum_all=("weighted sum of all layers", None, 95.5, _make_frozen_fields("sum-all")),
        ),
        reference="last",
    ),
    # Row names and titles give the percentages of [MASK], the same token and a random token. SST-2 replaces MNLI, which
    # has too many rows for two CPU cores.
    "table8": Table(
        "What replaces a masked word: [MASK], the same word or a random one",
        "table 8, appendix C.2",
        {
            "sst2": Column("SST-2", "finetune", "sst2", "MNLI"),
            "ner": _NER,
            "ner-frozen": _NER_FROZEN,
        },
        _make_rows(
            ("sst2", "ner", "ner-frozen"),
            m80_s10_r10=("80 / 10 / 10", 84.2, 95.4, 94.9),
            m100_s0_r0=("100 / 0 / 0", 84.3, 94.9, 94.0),
            m80_s0_r20=("80 / 0 / 20", 84.1, 95.2, 94.6),
            m80_s20_r0=("80 / 20 / 0", 84.4, 95.2, 94.7),
            m0_s20_r80=("0 / 20 / 80", 83.7, 94.8, 94.6),
            m0_s0_r100=("0 / 0 / 100", 83.6, 94.9, 94.6),
        ),
        {
            f"m{mask}-s{same}-r{random}": {"mask_share": mask / 100, "random_share": random / 100}
            for mask, same, random in (
                (80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0), (0, 20, 80), (0, 0, 100),
            )
        },
    ),
}  # fmt: skip
