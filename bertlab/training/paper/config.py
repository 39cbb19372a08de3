"""The flags of `bertlab reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.config.tasks import TASKS
from bertlab.training.optimizers import OptimConfig
from bertlab.training.paper.ablations import TABLES
from bertlab.training.paper.benchmarks import BENCHMARK_TABLES
from bertlab.training.pretraining.config import Preset, fast

# Name of a table -> the table: tables 1 to 4, then 5 to 8.
ALL_TABLES = BENCHMARK_TABLES | TABLES
# The limits of each fine-tuning run with --quick.
QUICK_EPOCHS, QUICK_MINUTES = 1.0, 3.0
# The default optimiser of pre-training, which is that of the recipe `fast`.
FAST_OPTIM = fast(Path(), Path()).optim
# The named-entity tasks that --ner accepts.
EntityTask = Literal[tuple(name for name, row in TASKS.items() if row.kind == "tagging")]


@dataclass(frozen=True, kw_only=True)
class ReproduceConfig:
    """Reproduce a table of the paper, scaled down to two CPU cores. The same command continues an interrupted run.

    table1: GLUE. table2: SQuAD v1.1. table3: SQuAD v2.0. table4: SWAG. For these four, the checkpoint of --from is
    fine-tuned on every task whose rows are available, tasks without rows are listed, and published results are shown
    for comparison. table5: BERT, a BERT that is pre-trained without next-sentence prediction, and a left-to-right
    model, which is fine-tuned without and with a BiLSTM on top. table6: model sizes. table7: features of a frozen
    encoder. table8: BERT pre-trained with different masking. In the names of the rows of table8, m, s and r are
    percentages: of the tokens chosen for prediction, m percent become [MASK], s percent stay the same, and r percent
    become a random token.

    Examples:
      bertlab reproduce table1 --data tasks --out runs/table1 --from strongest --quick
      bertlab reproduce table1 --data tasks --out runs/table1-grid --from strongest --grid
      bertlab reproduce table2 --data tasks --out runs/table2 --from strongest
      bertlab reproduce table5 --corpus runs/corpus --data tasks --out runs/table5 --minutes 10
      bertlab reproduce table7 --data tasks --out runs/table7 --from strongest --ner wnut17 --epochs 3
      bertlab reproduce table8 --corpus runs/corpus --data tasks --out runs/table8 --steps 3000 --seeds 3
    """

    table: tyro.conf.Positional[Literal[tuple(ALL_TABLES)]]
    """Which table of the paper."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The directory for the runs and results."""
    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A corpus made by `bertlab prepare`, to pre-train on."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """For table6: a prepared corpus of held-out text, on which perplexity is measured. Without it, the column
    perplexity is left out."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A directory that contains a directory for each task (mrpc, sst2, squad, wikiann_en), at any depth. In tables 1 to
    4 a task without such a directory is left out; if --columns names the task, that is an error. Default: the tasks'
    data on the hub."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = "strongest"
    """For tables 1 to 4 and table7: the checkpoint that is fine-tuned or whose frozen encoder gives features."""
    preset: Preset = "tiny"
    """Size of the pre-trained models; table6 has its own sizes."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Maximum minutes of each pre-training or fine-tuning run. Default: 10 for tables 5 to 8, no maximum for tables 1
    to 4."""
    quick: bool = False
    """For tables 1 to 4: limit each task to 1 epoch and 3 minutes, unless --epochs or --minutes is given. This gives a
    first impression."""
    grid: bool = False
    """For tables 1 to 4: search the paper's grid (appendix A.3) on every task: learning rates 5e-5, 3e-5, 2e-5, batch
    sizes 16 and 32, and 2, 3 and 4 epochs. The table shows the run, of these 18, that is best on the validation
    rows."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Steps of each pre-training run, instead of a time limit. This is fairer if other programs use the machine."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Epochs of each fine-tuning run. Default: 3, or 2 for question answering."""
    max_tokens: int = 128
    """Maximum number of tokens in an input or a pair; question answering has its own limit."""
    batch_size: int = 16
    """Pairs or inputs per step."""
    optim: OptimConfig = FAST_OPTIM
    """Optimiser of the pre-training."""
    lstm_width: int = 128
    """Width of the BiLSTMs in each direction; 384 in the paper."""
    ner: EntityTask = "wikiann_en"
    """The named-entity task; the paper uses conll2003."""
    seeds: int = 1
    """Number of seeds; the table shows mean and standard deviation."""
    columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """Only these columns (table1: mnli qqp qnli sst2 cola stsb mrpc rte; table2: squad; table3: squad_v2; table4: swag
    comve; table5: mrpc sst2 squad, and optionally ner; table6: perplexity mrpc sst2; table7: ner ner-frozen; table8:
    sst2 ner ner-frozen). In column ner the model is fine-tuned; in column ner-frozen a tagger is trained on features of
    the frozen encoder. In table7, the row `finetuned` has a value only in the column ner, the other rows only in
    ner-frozen."""
    rows: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """Only these rows (tables 1 to 4: one row, `ours`; table5: bert no-nsp left-to-right bilstm; table6 (l: layers, a:
    attention heads, h: hidden size): l1 l2-a1 l2 l4 l4-h192 l8-h192; table7: finetuned embeddings second
    (second-to-last layer) last sum-4 concat-4 sum-all; table8: m80-s10-r10 m100-s0-r0 m80-s0-r20 m80-s20-r0 m0-s20-r80
    m0-s0-r100)."""
    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""
    json: bool = False
    """Print the result as one JSON object."""

    @property
    def minutes_per_run(self) -> float | None:
        """The maximum time of each run in minutes; None for no maximum."""
        if self.table not in BENCHMARK_TABLES:
            return self.minutes or 10.0
        return self.minutes or (QUICK_MINUTES if self.quick else None)

    @property
    def epochs_per_run(self) -> float | None:
        """The number of epochs of each fine-tuning run; None for the default of the task type."""
        is_quick = self.quick and self.table in BENCHMARK_TABLES
        return self.epochs or (QUICK_EPOCHS if is_quick else None)
