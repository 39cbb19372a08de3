"""The settings of a pre-training run, and recipes: functions that return sets of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import tyro

from bertlab.config.families import BERT, FAMILIES
from bertlab.config.presets import PRESETS, list_pretrainable_families
from bertlab.tasks.pretraining_objectives import TokenObjectiveName
from bertlab.tasks.replaced_tokens import DEFAULT_WEIGHT
from bertlab.text.pretraining.masking import SPAN_LENGTHS
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName, RandomBPosition
from bertlab.training.optimizers import OptimConfig
from bertlab.training.run_directory import RunConfig

# The values of --preset and of --family.
Preset = Literal[tuple(PRESETS)]
FamilyName = Literal[list_pretrainable_families()]
# Value of --snapshot-dtype -> the type in which snapshots are stored.
SNAPSHOT_DTYPES = {"float32": torch.float32, "float16": torch.float16, "float8": torch.float8_e4m3fn}
# Settings of a model with random weights; if a run continues a checkpoint, the checkpoint determines them.
RANDOM_INIT_SETTINGS = ("family", "preset", "layers", "hidden", "attention_heads", "init", "start", "generator_size")


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(RunConfig):
    """Pre-train a BERT on a corpus made by `bertlab prepare` or, if no corpus is given, on generated stories. The
    same command continues an interrupted run.

    Examples:
      bertlab pretrain --out runs/first --minutes 5    # if you have no text: generated stories
      bertlab pretrain runs/corpus --out runs/mine --preset mini --minutes 60
      bertlab pretrain runs/corpus --out runs/modern --family modernbert --preset tiny --minutes 60
      bertlab pretrain runs/corpus --out runs/electra --family electra --preset tiny --minutes 60
      bertlab pretrain runs/corpus --out runs/more --from strongest --steps 1000
      bertlab pretrain runs/novels --out runs/domain --from strongest --minutes 60
      bertlab pretrain runs/corpus --out runs/paper --recipe google --preset small --batch-size 64
      torchrun --nproc-per-node=8 -m bertlab pretrain runs/corpus --out runs/base --preset base --batch-size 2048
    """

    SECTIONS: ClassVar = {
        "model": (*RANDOM_INIT_SETTINGS, "from_", "new_vocabulary", "dropout"),
        "pair": (
            "max_tokens", "final_max_tokens", "final_share", "pair_objective", "random_b_position", "pairs_only_share",
        ),
        "mask": (
            "chosen_share", "mask_copies", "whole_word", "mask_spans", "mask_share", "random_share", "left_to_right",
            "token_objective", "replaced_weight", "teacher", "teacher_share", "teacher_cosine",
        ),
        "monitoring": (
            "validation", "evaluate_every", "evaluate_rows", "snapshots", "snapshot_dtype", "sample_predictions",
            "sentences", "tensorboard",
        ),
        "machine": (*RunConfig.SECTIONS["machine"], "loader_workers"),
        "model card": RunConfig.SECTIONS["model card"],
    }  # fmt: skip
    """Headings in `--help`, each with the fields listed below it."""

    corpus: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[CORPUS]")] = None
    """The prepared corpus. Without one, English stories are generated and prepared once in runs/story-world, and
    the model is evaluated on held-out stories. For Korean stories or another number of stories, prepare a corpus with
    `bertlab prepare story-world`."""
    recipe: Literal["plain", "fast", "stories", "google"] = "plain"
    """A set of settings to start from. plain: the defaults below. google: the settings of the BERT paper, including
    --preset base. fast: settings with which the loss falls fastest on a small machine. stories: settings for a few
    minutes of training on generated stories; they are the default if no corpus is given. Other flags change individual
    settings; `--recipe google --help` shows the settings of that recipe as defaults."""
    family: FamilyName = "bert"
    """The architecture when training from random weights. Each family also has defaults of its own: roberta and
    distilbert train without sentence pairs, albert with sentence-order prediction, modernbert without pairs and with
    --chosen-share 0.3, electra with --token-objective replaced and without pairs. The vocabulary is that of the corpus.
    distilbert is usually trained with --teacher NAME --start teacher."""
    preset: Preset = "mini"
    """Model size when training from random weights, layers x hidden size: tiny 2 x 128, mini 4 x 256, small 4 x 512,
    minilm 6 x 384, medium 8 x 512, base 12 x 768, large 24 x 1024."""
    layers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of layers, instead of the preset's."""
    hidden: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Hidden size, instead of the preset's; the feed-forward layers are four times as wide."""
    attention_heads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Attention heads per layer, instead of the preset's."""
    from_: Annotated[str | None, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = None
    """Continue training this checkpoint (a directory, the name of a shipped checkpoint, or a hub id). Missing output
    layers are initialised randomly. If `bertlab prepare --extend-vocabulary` added tokens to the vocabulary of the
    checkpoint, the embedding of each of them starts as the mean of the embeddings of the tokens into which it
    was split before. With --from, the learning rate defaults
    to 1e-4, unless --new-vocabulary is given; longer runs can use a higher learning rate."""
    new_vocabulary: bool = False
    """With --from, for a corpus with another vocabulary: keep the encoder, and train new embeddings for the tokens that
    the old vocabulary lacks. Even an encoder that was trained on another language is a better start than random
    weights."""
    teacher: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Distillation: also train on the predictions of a checkpoint with the same vocabulary, as in DistilBERT. Each
    step also runs the teacher's forward pass, which costs about a third of a training step of the teacher."""
    teacher_share: float = 0.5
    """With --teacher: weight of the distillation loss, from 0 to 1. The weight of the usual loss, against the true
    tokens, is 1 minus this value."""
    teacher_cosine: float = 0.0
    """With --teacher: weight of the cosine distance between the last hidden states of student and teacher at the tokens
    to predict, which is added to the loss, as in DistilBERT. The hidden sizes must be equal."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus of held-out text to evaluate on during the run and at its end."""
    steps: int = 1_000_000
    """Number of training steps."""
    max_tokens: int = 128
    """Maximum number of tokens in a pair."""
    final_max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of tokens in a pair in the last part of the run. These longer pairs train the position embeddings
    beyond --max-tokens. A step then has fewer pairs, so that its number of tokens stays about the same. 0 or not given:
    --max-tokens applies to the whole run."""
    final_share: float = 0.1
    """With --final-max-tokens: the share of the run that this last part takes."""
    chosen_share: float = 0.15
    """Share of all tokens that is chosen for prediction. --mask-share and --random-share say what replaces them."""
    mask_copies: int = 0
    """Number of differently masked copies of the corpus. 0 is dynamic masking, as in RoBERTa: every epoch draws new
    masks and sentence pairs. 1 is static masking: every epoch repeats the masks and pairs of the first.
    google-research/bert makes 10 copies, so that the eleventh epoch repeats the first."""
    whole_word: bool = False
    """Mask all tokens of a word together."""
    mask_spans: Literal[tuple(SPAN_LENGTHS)] = "none"
    """Mask spans of consecutive whole words. ngram: one to three words; the frequency of n words is proportional to
    1/n, as in ALBERT. geometric: one to ten words with geometric frequencies, 3.8 on average, as in SpanBERT. Each
    token of a span is replaced independently (see --mask-share), whereas SpanBERT replaces all of them alike."""
    mask_share: float = 0.8
    """Of the chosen tokens, the share that is replaced by [MASK] (appendix C.2 of the paper)."""
    random_share: float = 0.1
    """Of the chosen tokens, the share that is replaced by a random token; the rest of them stay unchanged."""
    left_to_right: bool = False
    """Causal attention: each token attends to earlier ones only and predicts the next (section 5.1 of the paper). Needs
    --pair-objective none."""
    token_objective: TokenObjectiveName = "masked"
    """Objective for tokens: masked (predict masked tokens, as in the paper), or replaced (replaced-token detection,
    as in ELECTRA; needs --family electra). With replaced, a generator replaces the masked tokens by samples from its
    predictions, and the discriminator predicts for every token whether it differs from the original. The discriminator
    is written to --out/checkpoint, the generator to --out/generator."""
    generator_size: float = 0.25
    """With --token-objective replaced: the widths of the generator divided by those of the discriminator. The ELECTRA
    paper recommends a quarter to a half. Both have the same number of layers and share their embeddings."""
    replaced_weight: float = DEFAULT_WEIGHT
    """With --token-objective replaced: weight of the discriminator's loss, which is added to that of the generator."""
    pair_objective: PairObjectiveName = "next"
    """Sentence-pair objective: next (next-sentence prediction, as in the paper), order (sentence-order prediction, as
    in ALBERT), or none (single segments, as in RoBERTa)."""
    random_b_position: RandomBPosition = "any"
    """With --pair-objective next: where in its document a random sentence B begins. any: anywhere, as in the paper.
    same: at the same relative position as the sentence B that it replaces. With `any`, the model can recognise a random
    B in short documents without reading A: a random B may begin a document, but a B that follows A never begins one
    and often ends one. The long pairs of the last part of the run (--final-max-tokens) are always drawn as in
    the paper."""
    pairs_only_share: float = 0.0
    """Share of the run, at its start, in which nothing is masked, so that only the sentence-pair objective is trained.
    At the start of the training, the gradient of the masked tokens would be much larger than that of the pairs, whose
    labels carry only one bit each; when the model is first trained on the pairs alone, it learns to compare sentences.
    Use a low learning rate for this share (--optim.low-share). Ignored with --pair-objective none."""
    dropout: float = 0.0
    """Dropout rate, 0.1 in the paper. Use 0 if the run uses every text only once: training is then faster and reaches a
    lower loss."""
    init: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Standard deviation of the initial random weights. Default: 0.8 / sqrt(hidden size). The paper's 0.02 suits hidden
    sizes from 768; smaller models train faster with a larger value."""
    start: Literal["neighbours", "matches", "paper", "teacher"] = "neighbours"
    """Without --from: how the weights are initialised; the architecture is the same for all values. paper: random
    weights as in the paper. neighbours: random weights, but some first-layer heads attend to adjacent tokens from the
    start, so the loss begins to fall earlier. matches: like neighbours; in addition, for next-sentence prediction, one
    first-layer head attends from the tokens of sentence B to the same tokens in A. teacher: the embeddings, the output
    layers and evenly spaced layers of --teacher, as in DistilBERT; the hidden size must equal that of the teacher."""
    loader_workers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Data-loader workers per process. Every worker builds the whole global batch but keeps only the part of its own
    process, so more GPUs need more workers. Default: 0 on a CPU. On GPUs: twice the number of GPUs in the run, but at
    most this process's share of the CPU cores, and at least 2."""
    evaluate_every: int = 1000
    """Steps between evaluations on --validation."""
    evaluate_rows: int = 1024
    """Number of pairs in an evaluation; the final evaluation uses four times as many."""
    snapshots: bool = True
    """Save snapshots at steps 0, 10, 30, 100, 300, ... for the app's page Time machine, which shows how
    predictions change during training."""
    snapshot_dtype: Literal[tuple(SNAPSHOT_DTYPES)] = "float16"
    """Type in which snapshots are stored; float8 halves their size."""
    sample_predictions: bool = True
    """Print sample predictions for masked words at the snapshot steps and at the end."""
    sentences: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TEXT ...")] = ()
    """Sentences with [MASK] for the sample predictions, instead of the built-in English and Korean sentences."""
    tensorboard: bool = False
    """Write event files to --out/tensorboard; needs the package tensorboard."""


def google(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The paper's settings, with Adam without bias correction.

    In the last tenth, a step has 64 pairs instead of 256, so that its number of tokens stays the same.

    Source: Devlin et al. 2019, appendix A.2, and google-research/bert.
    """
    optim = OptimConfig(
        lr=1e-4, warmup=0.01, decay=1.0, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01, max_grad_norm=1.0,
        bias_correction=False,
    )  # fmt: skip
    settings = {
        "preset": "base", "steps": 1_000_000, "batch_size": 256, "max_tokens": 128, "final_max_tokens": 512,
        "final_share": 0.1, "chosen_share": 0.15, "pair_objective": "next", "dropout": 0.1, "init": 0.02,
        "start": "paper", "optim": optim,
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="google", **(settings | changes))


def fast(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The settings with which the loss leaves its first plateau soonest on a small machine (docs/lab-notebook.md)."""
    settings = {
        "preset": "mini", "batch_size": 16, "max_tokens": 128, "final_max_tokens": 512, "final_share": 0.1,
        "chosen_share": 0.25, "dropout": 0.0, "start": "neighbours",
        "optim": OptimConfig(lr=1e-3, warmup=0.03, decay=0.6, name="muon"),
    }  # fmt: skip
    return PretrainConfig(corpus=corpus, out=out, recipe="fast", **(settings | changes))


def stories(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """The settings for a few minutes on generated stories; used if no corpus is given (docs/lab-notebook.md).

    Three of them make the model compare both sentences of a pair: in the first 15 % of the run nothing is masked, a
    head starts with attention to tokens that both share, and up to the last 30 % a random B comes from the same place
    of its document. Another `preset` keeps its own number of heads; without pairs, the run begins with masks.
    """
    settings = {
        "preset": "tiny", "attention_heads": 4, "batch_size": 20, "max_tokens": 48, "final_max_tokens": 128,
        "final_share": 0.3, "chosen_share": 0.2, "dropout": 0.0, "start": "matches", "random_b_position": "same",
        "pairs_only_share": 0.15, "optim": OptimConfig(lr=2e-3, warmup=0.03, decay=0.6, low_share=0.15, name="muon"),
    }  # fmt: skip
    if changes.get("preset", "tiny") != "tiny":
        settings["attention_heads"] = None
    if changes.get("pair_objective", "next") == "none":
        settings |= {"pairs_only_share": 0.0, "optim": replace(settings["optim"], low_share=0.0)}
    return PretrainConfig(corpus=corpus, out=out, recipe="stories", **(settings | changes))


def continue_pretraining(corpus: Path | None, out: Path, **changes) -> PretrainConfig:
    """Settings for the further training of a checkpoint (`from_`): a tenth of the default learning rate."""
    return PretrainConfig(corpus=corpus, out=out, **({"optim": OptimConfig(lr=1e-4)} | changes))


# Value of --recipe -> the function of the recipe. The value "plain" needs none: it stands for the defaults of
# `PretrainConfig`.
RECIPES = {"google": google, "fast": fast, "stories": stories}


def make_recipe_settings(
    corpus: Path | None, out: Path, *, recipe: str = "plain", family: str = BERT.model_type, **changes
) -> PretrainConfig:
    """Make the settings of a recipe, and apply the changes that a model family needs (see `Family.pretraining`).

    >>> make_recipe_settings(None, Path("runs/lite"), recipe="fast", family="albert").pair_objective
    'order'
    """
    settings = {"family": family} | dict(FAMILIES[family].pretraining or {}) | changes
    if recipe in RECIPES:
        return RECIPES[recipe](corpus, out, **settings)
    return PretrainConfig(corpus=corpus, out=out, recipe=recipe, **settings)


def recipe_from_arguments(arguments: Sequence[str]) -> PretrainConfig | None:
    """Find the settings that a command line starts from; None stands for the defaults.

    They are those of the recipe and the family that it names, or those of `continue_pretraining` if the run continues a
    checkpoint with the same vocabulary.

    >>> recipe_from_arguments(["runs/corpus", "--recipe", "fast"]).optim.lr
    0.001
    >>> recipe_from_arguments(["runs/corpus", "--from", "strongest"]).optim.lr
    0.0001
    >>> recipe_from_arguments(["runs/corpus", "--family", "roberta"]).pair_objective
    'none'
    """
    recipe, family = _read_flag(arguments, "recipe"), _read_flag(arguments, "family")
    if recipe in RECIPES or family in list_pretrainable_families():
        return _make_defaults(recipe if recipe in RECIPES else "plain", arguments)
    continues_checkpoint = _read_flag(arguments, "from") is not None and "--new-vocabulary" not in arguments
    return continue_pretraining(None, tyro.MISSING) if continues_checkpoint else None


def recipe_from_config(config: PretrainConfig, arguments: Sequence[str]) -> PretrainConfig | None:
    """Find the settings of `stories` if there is neither a corpus, a checkpoint nor a recipe; else None."""
    if config.corpus is not None or config.from_ is not None or _read_flag(arguments, "recipe") is not None:
        return None
    return _make_defaults("stories", arguments)


def _make_defaults(recipe: str, arguments: Sequence[str]) -> PretrainConfig:
    flags = {"family": list_pretrainable_families(), "preset": tuple(PRESETS)}
    values = {name: _read_flag(arguments, name) for name in flags}
    changes = {name: value for name, value in values.items() if value in flags[name]}
    return make_recipe_settings(None, tyro.MISSING, recipe=recipe, **changes)


def _read_flag(arguments: Sequence[str], name: str) -> str | None:
    flags = " ".join(arguments).replace(f"--{name} ", f"--{name}=").split()
    values = [flag.removeprefix(f"--{name}=") for flag in flags if flag.startswith(f"--{name}=")]
    return values[-1] if values else None
