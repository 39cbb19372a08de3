# %% [markdown] en
# # 7. A classifier from your own CSV file
#
# You have a table with texts and labels, and a pre-trained BERT. There are two ways to a classifier:
#
# - **features**: BERT stays as it is and turns each text into a vector; a small classifier learns on top of the vectors
# - **fine-tuning**: an output layer is added, and *all* weights of BERT are trained a little further
#
# The first is fast, the second is what made BERT famous. In this lesson you build both from one CSV file and find out what the
# difference is. (The app's page [Classify](app:classify) uses a fine-tuned classifier.) The table is about a café. It is tiny, but
# has a trap: "not stale" is good, and "not good" is bad.
# %% [markdown] ko
# # 7. 내 CSV 파일로 분류기 만들기
#
# 텍스트와 레이블이 있는 표와 사전 학습한 BERT가 있어요. 분류기를 만드는 방법은 두 가지예요.
#
# - **특징**: BERT는 그대로 두고 텍스트를 벡터로 바꿔요. 그 벡터로 작은 분류기를 학습해요.
# - **파인튜닝**: 출력층을 더하고 BERT의 *모든* 가중치를 조금 더 학습해요.
#
# 첫째는 빠르고, 둘째는 BERT를 유명하게 만든 방법이에요. 이 수업에서는 CSV 파일 하나로 둘 다 만들어 보고 무엇이 다른지 알아봐요. (앱의
# [분류](app:classify) 화면은 파인튜닝한 분류기를 써요.) 카페
# 이야기를 담은 표예요. 아주 작지만 함정이 있어요. "짜지 않았다"는 칭찬이고, "좋지 않았다"는 불평이에요.
# %%
import contextlib
import csv
import io
import random
import tempfile
from pathlib import Path

import numpy as np
import torch

import bertlab
from bertlab.lessons import check, is_fast, pick, show_table
from bertlab.text.batch import collate

things = pick(
    en=["soup", "coffee", "bread", "cake", "tea", "rice", "salad", "pasta", "juice", "sandwich"],
    ko=["국물이", "커피가", "빵이", "케이크가", "차가", "밥이", "샐러드가", "국수가", "주스가", "만두가"],
)
praise = pick(
    en=["good", "fresh", "tasty", "warm", "lovely", "great"],
    ko=["맛있었다", "신선했다", "따뜻했다", "훌륭했다", "좋았다", "깔끔했다"],
)
complaint = pick(
    en=["bad", "stale", "cold", "salty", "dull", "awful"], ko=["나빴다", "짰다", "싱거웠다", "질겼다", "차가웠다", "심심했다"]
)
negated_korean = dict(zip(
    ["맛있었다", "신선했다", "따뜻했다", "훌륭했다", "좋았다", "깔끔했다", "나빴다", "짰다", "싱거웠다", "질겼다", "차가웠다", "심심했다"],
    ["맛있지", "신선하지", "따뜻하지", "훌륭하지", "좋지", "깔끔하지", "나쁘지", "짜지", "싱겁지", "질기지", "차갑지", "심심하지"],
))


def write_review(thing, word, negated):
    if negated:
        return pick(en=f"The {thing} was not {word}.", ko=f"{thing} {negated_korean.get(word)} 않았다.")
    return pick(en=f"The {thing} was {word}.", ko=f"{thing} {word}.")


rows = [
    (write_review(thing, word, negated), "happy" if (word in praise) != negated else "unhappy")
    for thing in things for word in praise + complaint for negated in (False, True)
]
random.Random(0).shuffle(rows)
directory = tempfile.TemporaryDirectory()
for name, part in (("train", rows[:144]), ("test", rows[144:])):
    with Path(directory.name, f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("review", "mood"), *part])

train, test = rows[:144], rows[144:]
assert len(test) == 96 and not set(train) & set(test)
print(Path(directory.name, "train.csv").read_text(encoding="utf-8")[:200], "…", sep="")
# %% [markdown] en
# To use a file of your own, put its path in place of `train.csv` below and name its columns.
#
# ## Features
#
# The vector of a text can be the vector of `[CLS]` after the last layer, or the mean of the vectors of all tokens. `embed` gives
# the mean, scaled to length 1. By hand:
# %% [markdown] ko
# 여러분의 파일을 쓰려면 아래에서 `train.csv` 자리에 그 경로를 넣고 열 이름을 적으세요.
#
# ## 특징
#
# 텍스트의 벡터로는 마지막 레이어를 지난 `[CLS]`의 벡터를 쓰거나, 모든 토큰 벡터의 평균을 쓸 수 있어요. `embed`는 길이를 1로 맞춘 평균을
# 돌려줘요. 직접 계산하면 이래요.
# %%
base = pick(en="strongest", ko="korean")
session = bertlab.load(base)


def compute_features(texts):
    cls, mean = [], []
    for text in texts:
        with torch.inference_mode():
            hidden_TH = session.model(collate([session.tokenizer.encode(text)], session.tokenizer.pad_id)).hidden_BTH[0]
        cls.append(hidden_TH[0].numpy())
        mean.append((hidden_TH.mean(dim=0) / hidden_TH.mean(dim=0).norm()).numpy())
    return {"[CLS]": np.array(cls), "mean": np.array(mean)}


features = {name: compute_features([text for text, _ in part]) for name, part in (("train", train), ("test", test))}
assert np.allclose(features["test"]["mean"], session.embed([text for text, _ in test]), atol=1e-3)
print({name: matrix.shape for name, matrix in features["train"].items()})
# %% [markdown] en
# ## A classifier on top
#
# Logistic regression: one weight for each number of the vector, a sum, and a sigmoid. Gradient descent needs five lines, because
# the gradient of the loss is simply (prediction − label) times the feature.
#
# **Predict.** Half of the labels are *happy*, so guessing gives 50 %. How good will the features be on rows that were not used for
# training? Which is better, `[CLS]` or the mean?
# %% [markdown] ko
# ## 그 위의 분류기
#
# 로지스틱 회귀예요. 벡터의 수마다 가중치를 곱해 더하고 시그모이드를 적용해요. 손실의 그래디언트가 (예측 − 레이블) × 특징이라서 경사 하강법은
# 다섯 줄이면 돼요.
#
# **예상해 보세요.** 레이블의 절반이 *happy*라서 찍으면 50%예요. 학습에 쓰지 않은 행에서 특징은 얼마나 잘할까요? `[CLS]`와 평균 가운데 어느
# 쪽이 나을까요?
# %% predict
is_happy = {name: np.array([label == "happy" for _, label in part], float) for name, part in (("train", train), ("test", test))}


def train_on_features(kind, steps=500):
    centre, spread = features["train"][kind].mean(axis=0), features["train"][kind].std(axis=0) + 1e-6
    x = {name: (features[name][kind] - centre) / spread for name in features}
    weights, bias = np.zeros(x["train"].shape[1]), 0.0
    for _ in range(steps):
        error = 1 / (1 + np.exp(-(x["train"] @ weights + bias))) - is_happy["train"]
        weights -= 0.1 * (x["train"].T @ error / len(error) + 1e-3 * weights)
        bias -= 0.1 * error.mean()
    return {name: np.mean((x[name] @ weights + bias > 0) == is_happy[name]) for name in x}


accuracy = {kind: train_on_features(kind) for kind in ("[CLS]", "mean")}
kinds = {"[CLS]": "[CLS]", "mean": pick(en="mean of the tokens", ko="토큰의 평균")}
show_table(
    pick(en=("features", "training rows", "test rows"), ko=("특징", "학습 데이터", "테스트 데이터")),
    [(kinds[kind], f"{each['train']:.1%}", f"{each['test']:.1%}") for kind, each in accuracy.items()],
)
assert 0.55 < accuracy["[CLS]"]["test"] < accuracy["mean"]["test"] < 0.99
# %% [markdown] en
# The vector of `[CLS]` was trained for next-sentence prediction, not for moods; without fine-tuning it is a poor feature. The mean
# is better. Note the gap between training and test rows: so many weights, so few rows.
#
# ## Fine-tuning
#
# `bertlab.finetune` adds an output layer on `[CLS]` and trains everything. On the command line it is
# `bertlab finetune custom --type classification --data train.csv --text-column review --label-column mood --from strongest --out runs/mood`.
#
# **Predict.** The output layer reads `[CLS]` again, the poor feature. Will fine-tuning be worse or better than the mean?
# %% [markdown] ko
# `[CLS]`의 벡터는 감정이 아니라 다음 문장 예측을 위해 학습한 거예요. 파인튜닝하지 않으면 특징으로 쓰기에 좋지 않아요. 평균이 나아요. 학습
# 데이터와 테스트 데이터의 차이도 보세요. 가중치는 많은데 행은 적어요.
#
# ## 파인튜닝
#
# `bertlab.finetune`은 `[CLS]` 위에 출력층을 더하고 전부 학습해요. 명령줄에서는
# `bertlab finetune custom --type classification --data train.csv --text-column review --label-column mood --from korean --out runs/mood`예요.
#
# **예상해 보세요.** 출력층은 이번에도 좋지 않은 특징인 `[CLS]`를 읽어요. 파인튜닝은 평균보다 나쁠까요, 좋을까요?
# %% predict
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # without the progress bar
    result = bertlab.finetune(
        "custom", out=Path(directory.name, "run"), from_=base, kind="classification",
        text_column="review", label_column="mood",
        data=Path(directory.name, "train.csv"), validation=Path(directory.name, "test.csv"),
        epochs=12 if is_fast() else 20, batch_size=16, threads=1, optim={"lr": 3e-4},
    )  # fmt: skip
tuned = result.load()


def classify_review(text):
    return max(tuned.classify(text).labels, key=lambda each: each.probability).label


predictions = [classify_review(text) for text, _ in test]
accuracy["fine-tuned"] = {"test": np.mean([p == label for p, (_, label) in zip(predictions, test)])}

assert np.isclose(100 * accuracy["fine-tuned"]["test"], result.metrics["accuracy"], atol=1.1)
kinds["fine-tuned"] = pick(en="fine-tuned", ko="파인튜닝")
show_table(
    pick(en=("", "test rows"), ko=("", "테스트 데이터")), [(kinds[kind], f"{each['test']:.1%}") for kind, each in accuracy.items()]
)
assert accuracy["fine-tuned"]["test"] > accuracy["[CLS]"]["test"] + 0.1
# %% [markdown] en
# ## What changed in the model?
#
# Fine-tuning made `[CLS]` collect what this task needs. The same logistic regression on `[CLS]`, now from the fine-tuned model,
# shows it. So features against fine-tuning is not a question of the output layer: the *vectors* differ. The app's page
# [Before and after](app:compare) compares a sentence in two such models, layer by layer.
# %% [markdown] ko
# ## 모델에서 무엇이 달라졌을까요?
#
# 파인튜닝으로 `[CLS]`는 이 태스크에 필요한 정보를 모으게 되었어요. 파인튜닝한 모델의 `[CLS]`로 똑같은 로지스틱 회귀를 해 보면 알 수 있어요.
# 특징과 파인튜닝의 차이는 출력층이 아니라 *벡터*에 있어요. 앱의 [전후 비교](app:compare) 화면에서는 이런 두 모델이 같은 문장을 레이어마다 어떻게
# 다르게 나타내는지 비교해요.
# %%
before = accuracy["[CLS]"]["test"]
pretrained, session = session, tuned
features = {name: compute_features([text for text, _ in part]) for name, part in (("train", train), ("test", test))}
after = train_on_features("[CLS]")["test"]
session = pretrained

print(f"[CLS]: {before:.1%} -> {after:.1%}")
assert after > before + 0.1
# %% [markdown] en
# ## Exercise 1
#
# Before you trust an accuracy, compare it with counting. What is the test accuracy of this rule without any model: "happy if
# the review contains a word of `praise`"? Guess first. (`test` is a list of pairs: text, label.)
# %% [markdown] ko
# ## 연습 1
#
# 정확도를 믿기 전에 단순한 규칙과 비교해 보세요. 모델 없이 "`praise`의 단어가 들어 있으면 happy"라는 규칙을 쓰면 테스트
# 정확도는 얼마일까요? 먼저 예상해 보세요. (`test`는 (텍스트, 레이블) 쌍의 리스트예요.)
# %% exercise 1
rule_accuracy = ...
# %% check 1
true_accuracy = np.mean([any(word in text for word in praise) == (label == "happy") for text, label in test])
check(
    1, rule_accuracy,
    (lambda a: 0 <= float(a) <= 1, pick(en="An accuracy as a number from 0 to 1 is needed.", ko="정확도를 0과 1 사이의 수로 구하세요.")),
    (lambda a: abs(float(a) - true_accuracy) < 0.005, pick(
        en="Compare, for every row of `test`, whether the text contains such a word with whether its label is happy.",
        ko="`test`의 행마다, 그런 단어가 들어 있는지와 레이블이 happy인지를 비교하세요.")),
)
# %% solution 1
rule_accuracy = np.mean([any(word in text for word in praise) == (label == "happy") for text, label in test])
print(f"{rule_accuracy:.1%}")
# %% [markdown] en
# ## Exercise 2
#
# How many numbers does each way train? Logistic regression has one weight for each number of a vector and one bias; fine-tuning
# trains every parameter of `tuned.model`. By which factor does fine-tuning train more?
# %% [markdown] ko
# ## 연습 2
#
# 두 방법은 수를 몇 개씩 학습할까요? 로지스틱 회귀에는 벡터의 수마다 가중치가 하나, 그리고 편향이 하나 있어요. 파인튜닝은 `tuned.model`의
# 파라미터를 모두 학습해요. 파인튜닝이 학습하는 수는 몇 배일까요?
# %% exercise 2
factor = ...
# %% check 2
all_parameters = sum(parameter.numel() for parameter in tuned.model.parameters())
check(
    2, factor,
    (lambda a: float(a) > 1, pick(en="More is trained in fine-tuning: the factor is above 1.", ko="파인튜닝이 더 많이 학습해요. 1보다 커야 해요.")),
    (lambda a: float(a) < all_parameters / 2, pick(
        en="That is the number of parameters. Divide by the number of weights of the logistic regression.",
        ko="그건 파라미터의 수예요. 로지스틱 회귀의 가중치 수로 나누세요.")),
    (lambda a: np.isclose(float(a), all_parameters / (tuned.config.hidden_size + 1), rtol=0.01), pick(
        en="Count again: `parameter.numel()` for every parameter, and H weights and one bias for the logistic regression.",
        ko="다시 세어 보세요. 파라미터마다 `parameter.numel()`, 로지스틱 회귀는 가중치 H개와 편향 하나예요.")),
)
# %% solution 2
factor = sum(parameter.numel() for parameter in tuned.model.parameters()) / (session.config.hidden_size + 1)
print(f"{factor:,.0f}")
# %% [markdown] en
# ## Exercise 3
#
# The test rows resemble the training rows. Write a review of the café whose mood every person recognises but that `tuned` gets wrong.
# Answer with `(text, label)`.
# %% [markdown] ko
# ## 연습 3
#
# 테스트 데이터는 학습 데이터와 닮았어요. 사람이라면 누구나 알 수 있지만 `tuned`는 틀리는 카페 평을 쓰세요. `(텍스트, 레이블)`로 답하세요.
# 레이블은 "happy"나 "unhappy"예요.
# %% exercise 3
hard_review = ...  # ("…", "happy")
# %% check 3
check(
    3, hard_review,
    (lambda a: len(a) == 2 and a[1] in ("happy", "unhappy"), pick(
        en='The answer must be a pair of a text and "happy" or "unhappy".', ko='답은 텍스트와 "happy"나 "unhappy"의 쌍이어야 해요.')),
    (lambda a: len(a[0].split()) >= 3, pick(en="Write at least three words.", ko="세 어절 이상 쓰세요.")),
    (lambda a: classify_review(a[0]) != a[1], pick(
        en="The model is right. Say it without the words of the table, or with two negations.",
        ko="모델이 맞혔어요. 표에 없는 단어로 말하거나 두 번 부정해 보세요.")),
)
# %% solution 3
attempts = pick(
    en=[
        ("I would come back for this soup any day.", "happy"), ("I left half of the cake on the plate.", "unhappy"),
        ("Nobody could say that the tea was not bad.", "unhappy"), ("Never again will I eat here.", "unhappy"),
        ("My children asked for a second plate.", "happy"),
    ],
    ko=[
        ("이 국물 때문에라도 또 오고 싶다.", "happy"), ("케이크를 절반이나 남기고 나왔다.", "unhappy"),
        ("다시는 여기서 먹고 싶지 않다.", "unhappy"), ("아이들이 한 그릇을 더 달라고 했다.", "happy"),
        ("차가 좋지 않았다고는 아무도 말하지 못한다.", "happy"),
    ],
)
hard_review = next((text, label) for text, label in attempts if classify_review(text) != label)
print(hard_review)
