# %% [markdown] en
# # 10. Reading the paper's tables 5 to 8 from runs of your own
#
# Tables 5 to 8 of the paper take BERT apart: without next sentences, from left to right, smaller, as features only, with other
# masks. Each asks: *does the result change?* But every number comes from training with random initialisation, random
# order and random masks. Would the same training give the same number again?
#
# In this lesson you make such tables yourself, with tiny runs, and learn the one thing that the paper does not print: how large
# a difference must be before it means something.
# %% [markdown] ko
# # 10. 직접 학습해서 읽는 논문의 표 5~8
#
# 논문의 표 5~8은 BERT를 하나씩 바꿔 봐요. 다음 문장 예측을 빼거나, 왼쪽에서 오른쪽으로만 보거나, 크기를 줄이거나, 특징으로만 쓰거나, 마스크 방법을
# 바꿔요. 모두 *결과가 달라지는가*를 물어요. 그런데 이 수들은 초기값도, 순서도, 마스크도 무작위인 학습에서 나왔어요. 똑같이 다시 학습하면 같은
# 수가 나올까요?
#
# 이 수업에서는 아주 작은 학습으로 이런 표를 직접 만들고, 논문에 적혀 있지 않은 한 가지를 배워요. 차이가 얼마나 커야 의미가 있을까요?
# %%
import contextlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np

import bertlab
from bertlab.lessons import check, is_fast, language, pick, show, show_table
from bertlab.text.story_world.rows import make_rows
from bertlab.training.paper.ablations import TABLES
from bertlab.training.paper.config import ReproduceConfig
from bertlab.training.paper.reproduce import read_table, reproduce
from bertlab.views import figures

titles = pick(
    en={"table5": "training objective", "table6": "size", "table7": "features from which layer", "table8": "masking"},
    ko={"table5": "학습 목표", "table6": "크기", "table7": "어느 레이어의 특징", "table8": "마스크 방법"},
)
differences = {}  # in points, from the reference row of each table
for name in titles:
    table = TABLES[name]
    reference = table.rows[table.reference_row].paper_results
    differences[name] = [
        value - reference[column]
        for row in table.rows.values() if row.title != table.rows[table.reference_row].title
        for column, value in row.paper_results.items() if column in reference and not table.columns[column].lower_is_better
    ]  # fmt: skip
show_table(
    pick(en=("table", "what changes", "differences", "smallest", "largest"), ko=("표", "바꾸는 것", "차이의 수", "가장 작은 차이", "가장 큰 차이")),
    [
        (name[-1], titles[name], len(values), f"{min(values, key=abs):+.1f}", f"{max(values, key=abs):+.1f}")
        for name, values in differences.items()
    ],
)
assert max(map(abs, differences["table5"])) > 10 and max(map(abs, differences["table8"])) < 1
# %% [markdown] en
# The largest difference of table 5 is eleven points, those of table 8 are all below one. The app's page [The paper](app:paper) shows
# what the tasks behind the numbers ask.
#
# ## A laboratory of stories
#
# `bertlab reproduce table8 --corpus … --data …` pre-trains a model for each row, fine-tunes it on each task, and repeats that with
# every seed. The text to pre-train on is the story world of lesson 6. The task is named-entity recognition (NER), as in tables 7 and 8: mark
# the people, objects and places of a story. Its rows are made from the stories, too.
# %% [markdown] ko
# 표 5의 가장 큰 차이는 11점이고, 표 8의 차이는 모두 1점이 안 돼요. 앱의 [논문](app:paper) 화면에서 이 수들이 나온 태스크를 볼 수 있어요.
#
# ## 이야기로 꾸민 실험실
#
# `bertlab reproduce table8 --corpus … --data …`는 행마다 모델을 사전 학습하고, 태스크마다 파인튜닝하고, 시드마다 되풀이해요. 사전 학습할
# 텍스트는 6번 수업의 이야기 세계예요. 태스크는 표 7과 표 8처럼 개체명 인식(NER)이에요. 이야기에 나오는 사람, 물건, 장소를 표시해요. 그 데이터도
# 이야기에서 만들어요.
# %%
temporary = tempfile.TemporaryDirectory()
home = Path(temporary.name) if is_fast() else Path(bertlab.__file__).parents[1] / "runs"
directory = home / f"lesson-10-{language()}"
size = 1 if is_fast() else 5


@contextlib.contextmanager
def quiet():  # without progress bars
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


tags = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]  # those of the task; objects stand in for ORG
rows_of_task = directory / "data" / "wikiann_en"  # the task's directory; the rows are ours
rows_of_task.mkdir(parents=True, exist_ok=True)
for split, is_held_out in (("train", False), ("validation", True)):
    rows = make_rows("entities", language(), 1, (100 if is_held_out else 200) * size, held_out=is_held_out)
    renamed = [(row["tokens"], [tag.replace("OBJ", "ORG") for tag in row["tags"]]) for row in rows]
    lines = [
        json.dumps({"tokens": tokens, "ner_tags": [tags.index(tag) if tag in tags else 0 for tag in names]}, ensure_ascii=False)
        for tokens, names in renamed
    ]  # days get no tag
    (rows_of_task / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
with quiet():
    corpus = bertlab.prepare(
        "story-world", out=directory / "world", language=language(), documents=600 * size, vocab_size=2048, workers=1
    )


def run_table(name, rows, columns, seeds, **settings):
    common = {"steps": 60 * size, "epochs": 4, "batch_size": 8, "max_tokens": 64, "threads": 1}
    config = ReproduceConfig(
        table=name, out=directory / name, data=directory / "data", rows=rows, columns=columns, seeds=seeds, **(common | settings)
    )
    with quiet():
        for _ in reproduce(config):  # computes the missing cells
            pass
    return read_table(config)


assert corpus.documents == 600 * size
print(*(f"{word}/{tag}" if tag in tags[1:] else word for word, tag in zip(*renamed[0])))
# %% [markdown] en
# ## The same run three times
#
# Table 8 changes what stands in place of a chosen token. 80 / 10 / 10 is BERT: 80 % `[MASK]`, 10 % unchanged, 10 % random. 100 / 0 / 0 is
# always `[MASK]`. The next cell runs both rows with three seeds each. A seed changes the initial weights, the order and the masks; everything
# else is the same.
#
# **Predict.** The paper has an F1 of 95.4 and 94.9. How far apart will three results of *the same* row be here, with runs of
# seconds: less than a point, one to three points, or more?
# %% [markdown] ko
# ## 같은 학습을 세 번
#
# 표 8은 고른 토큰의 자리에 놓는 것을 바꿔요. 80 / 10 / 10이 BERT예요. 80%는 `[MASK]`, 10%는 그대로, 10%는 무작위 토큰이에요. 100 / 0 / 0은 언제나
# `[MASK]`예요. 다음 셀은 두 행을 시드 세 개로 학습해요. 시드는 초기값과 순서와 마스크만 바꾸고, 나머지는 모두 같아요.
#
# **예상해 보세요.** 논문의 F1은 95.4와 94.9예요. 몇 초짜리 학습에서는 *같은* 행의 결과 세 개가 얼마나 다를까요? 1점 미만, 1~3점,
# 아니면 그보다 많이 다를까요?
# %% predict
table8 = run_table("table8", ("m80-s10-r10", "m100-s0-r0"), ("ner",), seeds=3, corpus=directory / "world")
results = {name: row["cells"]["ner"]["values"] for name, row in table8["rows"].items()}
paper = {name: row["cells"]["ner"]["paper"] for name, row in table8["rows"].items()}
show_table(
    pick(en=("row", "seed 0", "seed 1", "seed 2", "the paper"), ko=("행", "시드 0", "시드 1", "시드 2", "논문")),
    [(table8["rows"][name]["title"], *(f"{value:.1f}" for value in values), paper[name]) for name, values in results.items()],
)
spread = {name: np.std(values, ddof=1) for name, values in results.items()}
assert all(np.isclose(spread[name], table8["rows"][name]["cells"]["ner"]["spread"]) for name in spread)
assert max(max(values) - min(values) for values in results.values()) > abs(paper["m80-s10-r10"] - paper["m100-s0-r0"])
print({name: round(float(value), 2) for name, value in spread.items()})
# %% [markdown] en
# The same row with another seed differs by more than the paper's two rows do. The last line is the **spread**, the standard deviation over the
# seeds. A mean of n seeds is more certain than one result: its *standard error* is the spread divided by √n. The error of a difference of two
# means adds both: √(s₁²/n₁ + s₂²/n₂). A rule of thumb: a difference below twice that error may be chance.
# %% [markdown] ko
# 같은 행이라도 시드가 다르면 논문의 두 행보다 더 많이 달라요. 마지막 줄은 시드에 따른 표준 편차, 곧 **퍼짐**이에요. 시드 n개의 평균은 결과 하나보다
# 믿을 만해요. 평균의 *표준 오차*는 퍼짐을 √n으로 나눈 값이에요. 두 평균의 차이는 두 오차를 합쳐 √(s₁²/n₁ + s₂²/n₂)만큼 불확실해요. 어림하는
# 규칙은 이래요. 차이가 이 값의 두 배보다 작으면 우연일 수 있어요.
# %%
def judge(table, row, column):
    ours, reference = (np.array(table["rows"][name]["cells"][column]["values"]) for name in (row, table["against"]))
    error = np.sqrt(ours.var(ddof=1) / len(ours) + reference.var(ddof=1) / len(reference))
    return ours.mean() - reference.mean(), error


difference, error = judge(table8, "m100-s0-r0", "ner")
means = [np.mean(results[name]) for name in ("m100-s0-r0", "m80-s10-r10")]
assert np.isclose(difference, means[0] - means[1])
verdict = pick(en=("may be chance", "more than chance"), ko=("우연일 수 있음", "우연으로 보기 어려움"))
print(f"{difference:+.2f} ± {error:.2f}: {verdict[int(abs(difference) > 2 * error)]}")
# %% [markdown] en
# ## How many seeds?
#
# Runs at the size of the paper are steadier. On MNLI, its two rows are at 84.2 and 84.3. Suppose they
# truly differ by 0.1 points, and results spread by 0.3 points.
#
# **Predict.** You run each row once. With which probability does the better row get the better result? And with ten seeds each?
# %% [markdown] ko
# ## 시드는 몇 개나 필요할까요?
#
# 논문만 한 학습은 결과가 더 안정적이에요. MNLI에서 두 행은 84.2와 84.3이에요. 진짜 차이가 0.1점이고 결과의 퍼짐이 0.3점이라고 해 봐요.
#
# **예상해 보세요.** 행마다 한 번씩 학습하면, 더 좋은 행이 더 좋은 결과를 얻을 확률은 얼마일까요? 시드를 열 개씩 쓰면요?
# %% predict
rng = np.random.default_rng(0)
seed_counts, share = [1, 3, 10, 30, 100], []
for seeds in seed_counts:
    worse, better = (rng.normal(mean, 0.3, size=(20_000, seeds)).mean(axis=1) for mean in (84.2, 84.3))
    share.append(np.mean(better > worse))

figure = figures.empty_figure(height=280)
figure.add_scatter(x=seed_counts, y=share, mode="lines+markers")
figure.update_xaxes(type="log", title=pick(en="seeds per row", ko="행마다 시드의 수"), tickvals=seed_counts)
figure.update_yaxes(range=[0.5, 1], tickformat=".0%", showgrid=True, gridcolor=figures.GRID)
show(
    figure,
    alt=pick(
        en="How often the better row wins: six times in ten with one seed, three times in four with ten, nearly always with a hundred.",
        ko="더 좋은 행이 이기는 비율. 시드 하나로는 열에 여섯 번, 열 개로는 넷에 세 번, 백 개로는 거의 언제나 이겨요.",
    ),
)
print(*(f"{seeds}: {value:.0%}" for seeds, value in zip(seed_counts, share)), sep="   ")
assert 0.57 < share[0] < 0.62 and 0.7 < share[2] < 0.82 and share[4] > 0.97
# %% [markdown] en
# With one seed it is hardly better than a coin. So when a table of yours "agrees with the paper's direction" in three comparisons of
# five, that says little; and where the paper's difference is a tenth of a point, its order is no fact either.
#
# ## Differences that are large enough
#
# Table 6 makes the model larger. The size of the model shows in the perplexity of the masked tokens (lower is better), which is measured on
# many tokens. Two sizes, two seeds each; the paper's models have three times as many layers.
#
# **Predict.** Does the model with four layers beat the one with one layer already after such a short training?
# %% [markdown] ko
# 시드 하나로는 동전 던지기보다 조금 나을 뿐이에요. 그러니 다섯 번의 비교 가운데 세 번이 "논문과 방향이 같다"고 해도 별 뜻이 없어요. 논문의 차이가
# 0.1점인 곳에서는 논문의 순서도 사실이라고 할 수 없어요.
#
# ## 충분히 큰 차이
#
# 표 6은 모델을 키워요. 크기의 효과는 마스크 토큰의 퍼플렉서티에서 보여요(낮을수록 좋아요). 두 가지 크기를 시드 두 개로
# 학습해요. 논문의 모델은 레이어가 세 배예요.
#
# **예상해 보세요.** 이렇게 짧은 학습에서도 레이어 네 개짜리가 한 개짜리보다 나을까요?
# %% predict
table6 = run_table(
    "table6", ("l1", "l4"), ("perplexity",), seeds=2, corpus=directory / "world", validation=directory / "world-heldout"
)
cells = {name: row["cells"]["perplexity"] for name, row in table6["rows"].items()}
show_table(
    pick(en=("layers", "ours", "spread", "the paper, three times as many"), ko=("레이어", "우리", "퍼짐", "논문(레이어가 세 배)")),
    [(name[1:], f"{cell['mean']:.1f}", f"{cell['spread']:.1f}", cell["paper"]) for name, cell in cells.items()],
)
difference, error = judge(table6, "l1", "perplexity")
print(f"{difference:+.1f} ± {error:.1f}: {verdict[int(abs(difference) > 2 * error)]}")
assert cells["l1"]["paper"] > cells["l4"]["paper"] and error > 0
# %% [markdown] en
# Our perplexities are far above the paper's: tiny models, seconds of training, another text. Absolute values of different set-ups cannot be
# compared; a *difference* within one set-up can, if it stands out from its error. The last line gives the difference, its error and the verdict. Two seeds
# are a minimum: the spread of two results is itself a rough guess.
#
# ## One seed of tables 5 and 7
#
# Two more, with one seed, as in the paper. Table 5: left to right only. The paper has no entities there, but questions (SQuAD), which need
# both sides of a word as well. Table 7: a frozen BERT gives features, from the embeddings or from the last layer, to a small tagger.
#
# Without a second seed there is no spread to judge by. But a validation set of n rows has a sampling error, about √(p(1 − p)/n) for an
# accuracy p. It is the least that a difference must exceed.
# %% [markdown] ko
# 우리의 퍼플렉서티는 논문보다 훨씬 높아요. 모델도 작고, 학습도 몇 초뿐이고, 텍스트도 달라요. 조건이 다르면 값 자체는 비교할 수 없어요. 같은 조건 안의
# *차이*는 오차보다 뚜렷이 크면 비교할 수 있어요. 마지막 줄은 차이와 오차와 판정이에요. 시드 두 개는 최소한이에요. 결과 두 개의 퍼짐은 그 자체가
# 어림짐작이거든요.
#
# ## 시드 하나로 만든 표 5와 표 7
#
# 두 가지를 더, 논문처럼 시드 하나로 해 봐요. 표 5는 왼쪽에서 오른쪽으로만 보는 모델이에요. 논문의 표 5에는 개체명이 없고, 개체명처럼 단어의 양쪽을
# 봐야 하는 질문 답변(SQuAD)이 있어요. 표 7은 고정한 BERT의 임베딩이나 마지막 레이어를 특징으로 써서 작은 태깅 모델을 학습해요.
#
# 시드가 하나면 판단할 퍼짐이 없어요. 하지만 검증 데이터가 n행이면 표본 오차가 있어요. 정확도 p에 대해 약 √(p(1 − p)/n)이에요. 차이는 적어도
# 이보다는 커야 해요.
# %%
table5 = run_table("table5", ("bert", "left-to-right"), ("ner",), seeds=1, corpus=directory / "world")
encoder = directory / "table8" / "pretrained-seed0" / "m80-s10-r10" / "checkpoint"
table7 = run_table(
    "table7", ("embeddings", "last"), ("ner-frozen",), seeds=1, steps=None, from_=str(encoder), lstm_width=32,
    epochs=1 if is_fast() else 8,
)  # fmt: skip
row_names = pick(
    en={"bert": "BERT", "left-to-right": "left to right", "embeddings": "embeddings", "last": "last layer"},
    ko={"bert": "BERT", "left-to-right": "왼쪽에서 오른쪽", "embeddings": "임베딩", "last": "마지막 레이어"},
)
lines = []
for table, column, paper_column in ((table5, "ner", "squad"), (table7, "ner-frozen", "ner-frozen")):
    for name, row in table["rows"].items():
        paper_result = TABLES[table["table"]].rows[name].paper_results[paper_column]
        lines.append((table["table"][-1], row_names[name], f"{row['cells'][column]['mean']:.1f}", paper_result))
show_table(
    pick(en=("table", "row", "F1, ours", "F1, the paper"), ko=("표", "행", "F1, 우리", "F1, 논문")), lines
)
paper_5, paper_7 = ([line[-1] for line in lines if line[0] == number] for number in "57")
assert paper_5[0] - paper_5[1] > 10 and 3 < paper_7[1] - paper_7[0] < 4
assert len(lines) == 4 and all(0 <= float(line[2]) <= 100 for line in lines)
# %% [markdown] en
# A result near 0 (with `FAST=1`, table 7) is not a result about layers: the tagger has not begun to learn, and answers *no entity*
# everywhere. Before you compare rows, check that each beats the simplest answer.
#
# What a tiny run can show: that the machinery works, and effects of many points. What it cannot show: effects of tenths of a point, or those
# that need much training, such as table 5's on SQuAD. `bertlab reproduce table5 --help` names the settings for longer runs.
#
# ## Exercise 1
#
# On which task does BERT without next-sentence prediction lose most, in the paper's table 5? Use
# `TABLES["table5"].rows["bert"].paper_results` and those of `"no-nsp"`, and answer with the name of the column.
# %% [markdown] ko
# 0에 가까운 결과(`FAST=1`이면 표 7)는 레이어에 대한 결과가 아니에요. 태깅 모델이 아직 아무것도 배우지 못해서 어디서나 *개체명 아님*이라고 답하는
# 거예요. 행을 비교하기 전에, 모든 행이 가장 단순한 답보다는 나은지 확인하세요.
#
# 작은 학습이 보여 줄 수 있는 것은 과정이 제대로 돌아간다는 것과 몇 점이나 되는 큰 효과예요. 0.1점짜리 효과나, 표 5의 SQuAD처럼 학습을 많이 해야
# 나타나는 효과는 보여 줄 수 없어요. 더 길게 학습하는 설정은 `bertlab reproduce table5 --help`에 있어요.
#
# ## 연습 1
#
# 논문의 표 5에서 다음 문장 예측을 뺀 BERT의 점수가 가장 많이 떨어지는 태스크는 무엇일까요? `TABLES["table5"].rows["bert"].paper_results`와
# `"no-nsp"`의 결과를 쓰고, 열의 이름으로 답하세요.
# %% exercise 1
most_affected = ...
# %% check 1
full, without = (TABLES["table5"].rows[name].paper_results for name in ("bert", "no-nsp"))
check(
    1, most_affected,
    (lambda a: a in full, pick(en=f"The answer must be one of {list(full)}.", ko=f"답은 {list(full)} 가운데 하나여야 해요.")),
    (lambda a: full[a] - without[a] == max(full[name] - without[name] for name in full), pick(
        en="Another task loses more. Subtract column by column.", ko="더 많이 떨어지는 태스크가 있어요. 열마다 빼 보세요.")),
)
# %% solution 1
bert, no_nsp = (TABLES["table5"].rows[name].paper_results for name in ("bert", "no-nsp"))
most_affected = max(bert, key=lambda column: bert[column] - no_nsp[column])
print({column: round(no_nsp[column] - bert[column], 1) for column in bert})
# %% [markdown] en
# ## Exercise 2
#
# The development set of SST-2 has 872 rows, and BERT gets 92.7 % of them right. How large is the sampling error of that accuracy, in
# points? Compare it with the difference to the row *no NSP*, 92.6.
# %% [markdown] ko
# ## 연습 2
#
# SST-2의 검증 데이터는 872행이고 BERT는 92.7%를 맞혀요. 이 정확도의 표본 오차는 몇 점일까요? *no NSP* 행의 92.6과 비교해 보세요.
# %% exercise 2
error_of_sst2 = ...
# %% check 2
check(
    2, error_of_sst2,
    (lambda a: float(a) > 0, pick(en="An error is positive.", ko="오차는 0보다 커요.")),
    (lambda a: float(a) > 0.1, pick(en="Points are per cent: multiply by 100. Or is the root missing?", ko="점은 퍼센트예요. 100을 곱하세요. 제곱근은 씌웠나요?")),
    (lambda a: float(a) < 5, pick(en="Divide by the number of rows, under the root.", ko="제곱근 안에서 행의 수로 나누세요.")),
    (lambda a: abs(float(a) - 100 * np.sqrt(0.927 * (1 - 0.927) / 872)) < 0.02, pick(
        en="The formula is in the text above table 5: p is a number between 0 and 1.", ko="식은 표 5 위의 글에 있어요. p는 0과 1 사이의 수예요.")),
)
# %% solution 2
error_of_sst2 = 100 * np.sqrt(0.927 * 0.073 / 872)
print(f"± {error_of_sst2:.2f}")
# %% [markdown] en
# ## Exercise 3
#
# Two rows truly differ by 0.1 points, and results spread by 0.3 points. How many seeds per row are needed until the standard error of the
# difference is at most half of the difference?
# %% [markdown] ko
# ## 연습 3
#
# 두 행의 진짜 차이가 0.1점이고 결과의 퍼짐이 0.3점이에요. 차이의 표준 오차가 차이의 절반 이하가 되려면 행마다 시드가 몇 개 필요할까요?
# %% exercise 3
seeds_needed = ...
# %% check 3
def error_with(seeds):
    return np.sqrt(2 * 0.3**2 / seeds)


check(
    3, seeds_needed,
    (lambda a: float(a) == int(a) and a >= 1, pick(en="A whole number of seeds is needed.", ko="시드의 개수는 자연수여야 해요.")),
    (lambda a: error_with(a) <= 0.05 + 1e-9, pick(
        en="The error is still more than half of the difference. Both rows have one.", ko="오차가 아직 차이의 절반보다 커요. 오차는 두 행에 다 있어요.")),
    (lambda a: error_with(a - 1) > 0.05 + 1e-9, pick(en="Fewer are enough.", ko="더 적어도 돼요.")),
)
# %% solution 3
seeds_needed = 8 * 3**2  # 2 · 0.3² / n ≤ 0.05², so n ≥ 8 · (0.3 / 0.1)²
print(seeds_needed, f"{np.sqrt(2 * 0.3**2 / seeds_needed):.3f}")
