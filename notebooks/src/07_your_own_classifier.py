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
# 특징과 파인튜닝의 차이는 출력층이 아니라 *벡터*에 있어요. 앱의 [모델·텍스트 비교](app:compare) 화면에서는 이런 두 모델이 같은 문장을 레이어마다 어떻게
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
# ## Advertisement, stance, hate speech: three tables to start from
#
# No shipped checkpoint finds advertisements, a writer's stance or hate speech. We have no data for these tasks, so we make no claim about
# them. With rows of your own, the recipe is the one above; only the columns differ:
#
# - **advertisement**: a text, and whether it is an advertisement or a genuine review
# - **stance**: a *pair* of a text and a claim, and whether the text is in favour of the claim, against it or neutral. The same text can be in
#   favour of one claim and against the opposite one.
# - **hate speech**: a text, and whether it is hateful. Contempt for everybody in a group is hateful; criticism of what somebody did is not.
#
# We made up all rows below, and also the three fan clubs in them. The last four rows of each table are test rows. Their claims and their fan
# club do not occur in the training rows.
# %% [markdown] ko
# ## 광고, 입장, 혐오 표현: 작은 표 세 개로 시작하기
#
# 함께 제공하는 체크포인트 가운데 광고, 글쓴이의 입장, 혐오 표현을 찾는 것은 없어요. 이런 태스크의 데이터가 없어서 성능도 말하지 않아요. 여러분이
# 만든 행이 있으면 방법은 위와 같고 열만 달라요.
#
# - **광고**: 텍스트, 그리고 광고인지 진짜 후기인지
# - **입장**: 텍스트와 주장의 *쌍*, 그리고 텍스트가 주장에 찬성하는지, 반대하는지, 중립인지. 같은 텍스트가 한 주장에는 찬성이고 정반대 주장에는
#   반대일 수 있어요.
# - **혐오 표현**: 텍스트, 그리고 혐오 표현인지 아닌지. 어떤 집단의 사람을 모두 깔보는 말은 혐오 표현이고, 누가 한 일을 비판하는 말은 아니에요.
#
# 아래의 행은 모두 지어냈고, 팬클럽 세 곳도 지어낸 이름이에요. 표마다 마지막 네 행은 테스트 데이터예요. 이 네 행에 나오는 주장과 팬클럽은 학습
# 데이터에 없어요.
# %%
tables = {
    "advertisement": pick(
        en="""text,kind
The soup was cold but the waiter was kind.,review
Half price on all cakes until Sunday!,advertisement
I waited twenty minutes for a cup of tea.,review
Order today and get a free mug.,advertisement
We shared a pizza and were still hungry.,review
Try our new menu and bring a friend.,advertisement
The bread was still warm when we came at eight.,review
Use the code SPRING for ten percent off.,advertisement
My salad had too much salt.,review
Visit our new shop beside the station.,advertisement
The best coffee in town! Write to me for a coupon.,advertisement
They gave me a free dessert and it was very good.,review
""",
        ko="""text,kind
국물은 식었지만 직원이 친절했다.,후기
일요일까지 모든 케이크 반값!,광고
차 한 잔을 이십 분이나 기다렸다.,후기
오늘 주문하면 머그잔을 드려요.,광고
피자를 나눠 먹었는데 여전히 배가 고팠다.,후기
새 메뉴를 친구와 함께 맛보세요.,광고
여덟 시에 갔더니 빵이 아직 따뜻했다.,후기
쿠폰 번호를 입력하면 10% 할인!,광고
샐러드가 너무 짰다.,후기
역 옆에 새로 연 매장에 놀러 오세요.,광고
우리 동네 최고의 커피예요. 쪽지 주시면 쿠폰을 드려요.,광고
디저트를 공짜로 받았는데 아주 맛있었다.,후기
""",
    ),
    "stance": pick(
        en="""text,claim,stance
Sunday is the only day on which I have time for cake.,The café should open on Sundays.,in favour
Sunday is the only day on which I have time for cake.,The café should stay closed on Sundays.,against
The waiters need a day of rest.,The café should open on Sundays.,against
The waiters need a day of rest.,The café should stay closed on Sundays.,in favour
The café has eleven tables.,The café should open on Sundays.,neutral
My dog sleeps under the table and disturbs nobody.,Dogs should be allowed in the café.,in favour
A dog that jumps near hot soup is dangerous.,Dogs should be allowed in the café.,against
The café is next to the park.,Dogs should be allowed in the café.,neutral
Music makes a rainy afternoon cheerful.,The café should play music.,in favour
I come here to read in silence.,The café should play music.,against
I come here to read in silence.,The café should switch the music off.,in favour
The radio stands on a shelf.,The café should play music.,neutral
""",
        ko="""text,claim,stance
케이크를 먹을 시간이 일요일밖에 없다.,카페는 일요일에도 열어야 한다.,찬성
케이크를 먹을 시간이 일요일밖에 없다.,카페는 일요일에 쉬어야 한다.,반대
직원들도 하루는 쉬어야 한다.,카페는 일요일에도 열어야 한다.,반대
직원들도 하루는 쉬어야 한다.,카페는 일요일에 쉬어야 한다.,찬성
카페에는 탁자가 열한 개 있다.,카페는 일요일에도 열어야 한다.,중립
우리 개는 탁자 밑에서 얌전히 잔다.,카페에 개를 데려올 수 있어야 한다.,찬성
뜨거운 국물 옆에서 개가 뛰면 위험하다.,카페에 개를 데려올 수 있어야 한다.,반대
카페는 공원 옆에 있다.,카페에 개를 데려올 수 있어야 한다.,중립
음악이 있으면 비 오는 오후도 즐겁다.,카페에서는 음악을 틀어야 한다.,찬성
나는 조용히 책을 읽으러 온다.,카페에서는 음악을 틀어야 한다.,반대
나는 조용히 책을 읽으러 온다.,카페에서는 음악을 꺼야 한다.,찬성
라디오는 선반 위에 있다.,카페에서는 음악을 틀어야 한다.,중립
""",
    ),
    "hate speech": pick(
        en="""text,hateful
Blue Lantern fans are all fools and should stay at home.,yes
The Blue Lanterns played badly today.,no
Never sell a ticket to anybody from the Paper Boats.,yes
I do not like the new song of the Paper Boats.,no
All Paper Boat fans lie. That is what they are like.,yes
The Blue Lantern fans were too loud last night.,no
Nobody should sit next to a Blue Lantern fan.,yes
A Paper Boat fan lent me her umbrella.,no
Green Teapot fans are all fools. Send them away.,yes
The Green Teapots lost because they were tired.,no
She called all Green Teapot fans fools and I told her to stop.,no
Look: green scarves. Hold on to your wallets.,yes
""",
        ko="""text,hateful
푸른등불 팬은 다 바보니까 집에나 있어야 한다.,예
푸른등불은 오늘 경기를 못했다.,아니요
종이배 팬에게는 표를 팔지 마라.,예
종이배의 새 노래는 마음에 들지 않는다.,아니요
종이배 팬은 다 거짓말쟁이다. 원래 그렇다.,예
어젯밤 푸른등불 팬들은 너무 시끄러웠다.,아니요
푸른등불 팬 옆에는 아무도 앉지 마라.,예
종이배 팬이 나에게 우산을 빌려주었다.,아니요
초록주전자 팬은 다 바보다. 모두 내보내라.,예
초록주전자는 지쳐서 졌다.,아니요
초록주전자 팬은 다 바보라는 말을 듣고 그만하라고 했다.,아니요
저기 초록 목도리들이 온다. 지갑 조심해라.,예
""",
    ),
}
titles = pick(
    en={"advertisement": "advertisement", "stance": "stance", "hate speech": "hate speech"},
    ko={"advertisement": "광고", "stance": "입장", "hate speech": "혐오 표현"},
)
own_rows = {task: list(csv.reader(table.splitlines())) for task, table in tables.items()}
for task, (columns, *rows) in own_rows.items():
    assert len(rows) == 12
    for name, part in (("train", rows[:8]), ("test", rows[8:])):
        with Path(directory.name, f"{task}_{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *part])
    show_table(columns, rows[:3])
# %% [markdown] en
# For a task on pairs, name one more column. On the command line:
#
# - `bertlab finetune custom --type classification --data stance.csv --text-column text --pair-column claim --label-column stance --from strongest --out runs/stance`
# - `bertlab classify "I come here to read." "The café should play music." --checkpoint runs/stance`
#
# The next cell fine-tunes the small checkpoint *scratch* on each table, in a few seconds, and does so twice: with another seed, the new output
# layer starts from other weights and the rows come in another order.
#
# **Predict.** How many of the four test rows will each model get right? Will the two seeds give the same predictions?
# %% [markdown] ko
# 쌍의 태스크라면 열 이름을 하나 더 적어요. 명령줄에서는 이래요.
#
# - `bertlab finetune custom --type classification --data stance.csv --text-column text --pair-column claim --label-column stance --from korean --out runs/stance`
# - `bertlab classify "나는 책을 읽으러 온다." "카페에서는 음악을 틀어야 한다." --checkpoint runs/stance`
#
# 다음 셀은 표마다 체크포인트 *korean*을 몇 초 동안 파인튜닝해요. 시드를 바꿔 두 번씩 해요. 시드가 다르면 새 출력층의 초기 가중치와 행의 순서가
# 달라져요.
#
# **예상해 보세요.** 모델마다 테스트 행 네 개 가운데 몇 개를 맞힐까요? 두 시드의 예측은 같을까요?
# %% predict
def fine_tune_on_own_rows(task, seed):
    columns = own_rows[task][0]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = bertlab.finetune(
            "custom", out=Path(directory.name, f"{task}_{seed}"), from_=pick(en="scratch", ko="korean"), kind="classification",
            text_column="text", pair_column="claim" if "claim" in columns else "", label_column=columns[-1],
            data=Path(directory.name, f"{task}_train.csv"), validation=Path(directory.name, f"{task}_test.csv"),
            epochs=20, batch_size=4, threads=1, optim={"lr": 3e-4}, seed=seed,
        )  # fmt: skip
    return result.load()


def predict_label(model, texts):
    return max(model.classify(*texts).labels, key=lambda each: each.probability).label


counts, test_predictions = [], []
for task, (_, *rows) in own_rows.items():
    models = [fine_tune_on_own_rows(task, seed) for seed in (0, 1)]
    predicted = [[predict_label(model, texts) for model in models] for *texts, _ in rows]
    right = np.array([[each == label for each in answers] for answers, (*_, label) in zip(predicted, rows)])
    counts.append((titles[task], *right[:8].sum(axis=0), *right[8:].sum(axis=0)))
    test_predictions += [(" / ".join(texts), label, *answers) for answers, (*texts, label) in zip(predicted[8:], rows[8:])]
    assert task == "stance" or right[:8].all()

show_table(
    pick(
        en=("correct predictions", "training (of 8), seed 0", "training, seed 1", "test (of 4), seed 0", "test, seed 1"),
        ko=("맞힌 행의 수", "학습(8행), 시드 0", "학습, 시드 1", "테스트(4행), 시드 0", "테스트, 시드 1"),
    ),
    counts,
)
show_table(pick(en=("test row", "label", "seed 0", "seed 1"), ko=("테스트 행", "레이블", "시드 0", "시드 1")), test_predictions)
standard_error = {n: round(100 * (0.5 * 0.5 / n) ** 0.5, 1) for n in (4, 400)}
assert standard_error == {4: 25.0, 400: 2.5}
assert any(first != second for _, _, first, second in test_predictions)
# %% [markdown] en
# Both seeds get all training rows of the first and the last table right: the models have learned them by heart. This does not show that
# they can do the task, and neither do the test rows:
#
# - **Four rows are too few.** At an accuracy of 50 %, the standard error is 25 percentage points with 4 rows and 2.5 with 400. With two
#   labels, a coin gets all four right once in 16 times. Two models that differ only in the seed do not even agree with each other.
# - **Test rows must be new in the way in which your texts will be new**: other claims, other groups, other shops, other writers.
#   A test on rows like the training rows only measures memory.
# - **People disagree.** "They gave me a free dessert and it was very good": a review or an advertisement? Have two people label the same
#   rows independently, and report how often they agree.
# - **Hate speech is rare.** If one text in a hundred is hateful, a model that always answers "no" has an accuracy of 99 %. Report
#   precision and recall for each label; the app's page [Evaluation](app:evaluation) shows which labels are confused.
# - **No claim without data.** Report how many rows there were, who labelled them, and which were held out. No text should be deleted and no
#   writer accused because a model says so: a person has to decide.
# %% [markdown] ko
# 첫째 표와 셋째 표의 학습 행은 두 시드 모두 다 맞혔어요. 모델이 외운 거예요. 그렇다고 태스크를 할 수 있다는 뜻은 아니고, 테스트 행으로도 알 수
# 없어요.
#
# - **네 행은 너무 적어요.** 정확도가 50%일 때 표준 오차는 4행이면 25퍼센트포인트, 400행이면 2.5퍼센트포인트예요. 레이블이 두 개라면 동전을
#   던져도 열여섯 번에 한 번은 네 행을 다 맞혀요. 시드만 다른 두 모델의 예측도 서로 달라요.
# - **테스트 행은 실제로 쓸 텍스트만큼 새로워야 해요.** 주장, 집단, 가게, 글쓴이가 학습 데이터와 달라야 해요. 학습 데이터와 닮은 행으로는 얼마나
#   외웠는지만 알 수 있어요.
# - **사람끼리도 의견이 갈려요.** "디저트를 공짜로 받았는데 아주 맛있었다."는 후기일까요, 광고일까요? 두 사람이 같은 행에 따로따로 레이블을 붙이고,
#   얼마나 자주 일치하는지 밝히세요.
# - **혐오 표현은 드물어요.** 백 개 가운데 하나만 혐오 표현이면 늘 "아니요"라고 답하는 모델도 정확도가 99%예요. 레이블마다 정밀도와 재현율을
#   밝히세요. 어떤 레이블을 혼동하는지는 앱의 [평가](app:evaluation) 화면이 보여 줘요.
# - **데이터가 없으면 아무것도 주장하지 마세요.** 행이 몇 개였는지, 누가 레이블을 붙였는지, 어떤 행을 학습에 쓰지 않았는지 밝히세요. 모델의 예측만으로
#   글을 지우거나 글쓴이를 탓해서는 안 돼요. 결정은 사람이 해야 해요.
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
