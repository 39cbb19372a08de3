"""All that can be set of a pre-training run. Knows no run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import tyro

from bertlab.config.presets import PRESETS
from bertlab.text.pretraining.sentence_pairs import Second
from bertlab.training.run_directory import RunConfig

Preset = Literal[tuple(PRESETS)]
STORED = {"float32": torch.float32, "float16": torch.float16, "float8": torch.float8_e4m3fn}
# settings of random weights, which a checkpoint has its own in the place of
BORN = ("preset", "layers", "hidden", "attention_heads", "init", "start")


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(RunConfig):
    """Pre-train a BERT on a corpus made by `bertlab prepare`. Run again with the same --out, it goes on.

    Examples:
      bertlab pretrain runs/corpus --out runs/mine --preset mini --minutes 60
      bertlab pretrain runs/corpus --out runs/more --from strongest --steps 1000
      bertlab pretrain runs/corpus --out runs/paper --recipe google --preset small --batch-size 64
      torchrun --nproc-per-node=8 -m bertlab pretrain runs/corpus --out runs/base --preset base --batch-size 2048
    """

    SECTIONS: ClassVar = {
        "model": (*BORN, "from_", "new_vocabulary", "dropout"),
        "pair": ("max_tokens", "then_tokens", "then_share", "second"),
        "mask": ("mask", "whole_word", "mask_share", "random_share", "left_to_right", "teacher", "teacher_share"),
        "watch": (
            "validation", "evaluate_every", "evaluate_rows", "snapshots", "snapshot_dtype", "watch", "sentences",
            "tensorboard",
        ),
        "machine": (*RunConfig.SECTIONS["machine"], "ahead"),
        "card": RunConfig.SECTIONS["card"],
    }  # fmt: skip

    corpus: tyro.conf.Positional[Path]
    """The prepared corpus."""
    recipe: Literal["plain", "fast", "google"] = "plain"
    """A set of settings to begin with, which all other flags change; with --help it shows them."""
    preset: Preset = "mini"
    """The size, when training from random weights, layers x width: tiny 2 x 128, mini 4 x 256, small 4 x 512, minilm
    6 x 384, medium 8 x 512, base 12 x 768, large 24 x 1024."""
    layers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This many layers instead of the preset's."""
    hidden: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This width instead of the preset's; the feed-forward's is four times that."""
    attention_heads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This many attention heads a layer instead of the preset's."""
    from_: Annotated[str | None, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = None
    """Continue this checkpoint (a directory, a shipped name or a hub id) instead; heads it lacks are made anew. If no
    rate is given, it is 1e-4 then: a long run can bear a higher one."""
    new_vocabulary: bool = False
    """With --from, where the corpus has another vocabulary: keep the encoder and learn the embeddings of the pieces it
    does not know. An encoder of one language is a better start for another than random weights."""
    teacher: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Learn also from what this checkpoint, of the same vocabulary, would put into each gap, as DistilBERT did. The
    teacher reads every batch too: a step takes longer by about a third of what a step of the teacher's would."""
    teacher_share: float = 0.5
    """With --teacher: how much of the masked words' loss is against the teacher, not against what stood there."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus of held-out text, measured as the run goes and at its end."""
    steps: int = 1_000_000
    """Updates of the weights."""
    max_tokens: int = 128
    """Tokens in a pair."""
    then_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens in a pair towards the end of the run, fewer pairs a step: what comes after position 128 is learnt too."""
    then_share: float = 0.1
    """How much of the run that end is."""
    mask: float = 0.15
    """Share of tokens to predict."""
    whole_word: bool = False
    """Hide all pieces of a word together."""
    mask_share: float = 0.8
    """Of the tokens to predict, how many are shown as [MASK] (appendix C.2)."""
    random_share: float = 0.1
    """How many as a random word; the others are shown as they are."""
    left_to_right: bool = False
    """Let a token see only those before it, and predict the next word instead of masked ones (section 5.1). Nothing can
    be asked of a second sentence then: --second none."""
    second: Second = "next"
    """What is asked of a second sentence: whether it is the next (the paper), whether the two stand in their order
    (ALBERT), or nothing, and there is none (RoBERTa)."""
    dropout: float = 0.0
    """The paper's is 0.1; runs that never see a text twice do better and faster without."""
    init: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Standard deviation of random weights; 0.8 / sqrt(width) if not given. The paper's 0.02 suits a width of 768 and
    more; narrower models learn sooner with more."""
    start: Literal["neighbours", "paper"] = "neighbours"
    """Random weights as the paper's, or with the first layers' heads born looking at the tokens next to each: that
    leaves the first plateau of the loss sooner. Either way the result is an ordinary BERT."""
    ahead: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processes that draw the next pairs meanwhile, so that a GPU need not wait. If not given, each GPU has twice as
    many as there are GPUs, since each draws the pairs of all and keeps its own, but no more than its share of the
    cores, and at least 2; none where a processor trains, which would do their work itself."""
    evaluate_every: int = 1000
    """Steps between measurements on --validation."""
    evaluate_rows: int = 1024
    """Pairs in a measurement on the way; the last one takes four times as many."""
    snapshots: bool = True
    """Keep checkpoints at steps 0, 10, 30, 100, 300, ... for the time machine."""
    snapshot_dtype: Literal[tuple(STORED)] = "float16"
    """How these are stored; float8 halves them."""
    watch: bool = True
    """Print, at those steps and at the end, what the model puts into a few sentences with a gap."""
    sentences: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TEXT ...")] = ()
    """DivergenceDetector these instead of those that come with bertlab in English and Korean; each has a [MASK]."""
    tensorboard: bool = False
    """Write event files to --out/tensorboard; needs the package tensorboard."""
