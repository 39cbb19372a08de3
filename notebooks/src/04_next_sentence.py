# %% [markdown] en
# # 4. Which sentence comes next?
#
# Many tasks need two texts at once: question and passage, claim and evidence. So BERT's pre-training has a second task beside the
# masks: does sentence B follow sentence A? In this lesson you look at the input of a pair, compute the prediction from `[CLS]` by
# hand, and find out what the model really learned, which is not what its designers hoped.
#
# ## The input of a pair
#
# `[CLS] A [SEP] B [SEP]`, with segment 0 up to the first `[SEP]` and segment 1 after it.
# %% [markdown] ko
# # 4. 다음에 올 문장은?
#
# 질문과 지문, 주장과 근거처럼 텍스트 두 개를 함께 읽어야 하는 태스크가 많아요. 그래서 BERT는 사전 학습에서 마스크 말고도 태스크를 하나 더
# 배워요. 문장 B가 문장 A 다음에 오는 문장인지 맞히는 거예요. 이 수업에서는 문장 쌍의 입력을 살펴보고, `[CLS]`에서 예측을 직접 계산하고,
# 모델이 정말로 무엇을 배웠는지 알아봐요. 만든 사람들이 바란 것과는 달라요.
#
# ## 문장 쌍의 입력
#
# 입력은 `[CLS] A [SEP] B [SEP]`예요. 첫 `[SEP]`까지는 세그먼트 0, 그 뒤는 세그먼트 1이에요.
# %%
import numpy as np
import torch

import bertlab
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.views import figures
from bertlab.abilities.next_sentence import figures as pair_laboratory

session = bertlab.load(pick(en="strongest", ko="korean"))
first = pick(en="The ferry could not leave because of the storm.", ko="폭풍 때문에 여객선이 떠나지 못했다.")
second = pick(en="The passengers spent the night in the waiting room.", ko="승객들은 대합실에서 하룻밤을 보냈다.")

tokens = session.encode(first, second)
for segment in (0, 1):
    print(f"{segment}:", *(token.token for token in tokens if token.segment == segment))
assert [token.position for token in tokens if token.token == "[SEP]"] == [
    max(t.position for t in tokens if t.segment == 0), len(tokens) - 1
]
# %% [markdown] en
# ## Where the pairs come from
#
# No human labels anything. In half of the pairs, B is the sentence that follows A in the text (IsNext); in the other half, B is
# from some other text (NotNext). A "sentence" may be any stretch of text, also several sentences. The library draws pairs as
# `bertlab pretrain` does. Two draws, one of each kind, and a count over 40 draws:
# %% [markdown] ko
# ## 문장 쌍은 어디서 올까요?
#
# 사람이 레이블을 붙이지 않아요. 절반은 B가 텍스트에서 A 바로 뒤에 나오는 문장이고(IsNext), 나머지 절반은 B가 다른 텍스트에서 온
# 문장이에요(NotNext). 여기서 "문장"은 텍스트의 한 부분이면 되고, 여러 문장이어도 돼요. 라이브러리는 `bertlab pretrain`과 똑같이 쌍을 추첨해요. 두 종류를 하나씩 보고, 40번 추첨해서 세어 봐요.
# %%
text = pick(
    en="The ferry leaves the harbour at seven. It carries cars and about two hundred passengers. In winter, storms often keep it "
    "in port. Then the people of the island wait for the next calm day.",
    ko="여객선은 아침 일곱 시에 항구를 떠난다. 차와 승객 이백 명을 태운다. 겨울에는 폭풍 때문에 자주 떠나지 못한다. 그러면 섬 사람들은 "
    "바다가 잔잔해지기를 기다린다.",
)
examples = [session.pretraining_example(text, seed=seed, chosen_share=0.01) for seed in range(1, 41)]

drawn = [next(example for example in examples if example.label_name == label) for label in ("IsNext", "NotNext")]
show_table(
    pick(en=("label", "A", "B"), ko=("레이블", "A", "B")),
    [
        (
            example.label_name,
            *(
                session.tokenizer.decode([session.tokenizer.vocab[t.token] for t in example.tokens if t.segment == segment])
                for segment in (0, 1)
            ),
        )
        for example in drawn
    ],
)

share = np.mean([example.label_name == "IsNext" for example in examples])
assert 0.3 < share < 0.7
print(f"IsNext: {share:.0%}")
# %% [markdown] en
# ## The prediction, by hand
#
# The vector of `[CLS]` after the last layer stands for the whole pair. It passes through one more matrix and a tanh (the
# *pooler*), and a matrix with two rows gives two logits: IsNext and NotNext.
# %% [markdown] ko
# ## 예측을 직접 계산해요
#
# 마지막 레이어를 지난 `[CLS]`의 벡터가 쌍 전체를 나타내요. 이 벡터에 행렬 하나와 tanh를 적용하고(*풀러*), 행이 두 개인 행렬을 곱하면 로짓이
# 두 개 나와요. IsNext와 NotNext예요.
# %%
def predict_by_hand(first, second):
    block = session.block(first, second, layer=session.config.num_layers - 1, position=0)  # position 0 is [CLS]
    with torch.no_grad():
        cls_H = torch.tensor(block.output_H)
        pooled_H = torch.tanh(session.model.pooler.dense.weight @ cls_H + session.model.pooler.dense.bias)
        output_layer = session.model.head("nsp")
        logits_2 = output_layer.weight @ pooled_H + output_layer.bias
    exponentials_2 = np.exp(logits_2.numpy())
    return exponentials_2 / exponentials_2.sum()


probability = predict_by_hand(first, second)[0]
prediction = session.next_sentence(first, second)
assert np.isclose(probability, prediction.probability, atol=1e-3)
assert probability > 0.5
show(
    figures.nsp_gauge(prediction),
    alt=pick(en="A bar of two parts: IsNext has the larger part.", ko="두 부분으로 나뉜 막대. IsNext 쪽이 더 커요."),
)
# %% [markdown] en
# ## What did it learn?
#
# The prediction is right. But why? Perhaps the model understands that stranded passengers need a place to sleep. Perhaps it only
# noticed that ferry and passengers belong to one topic. A test needs a third kind of B: same topic, but *impossible* as a
# continuation.
#
# **Predict** the three probabilities for "The ferry could not leave because of the storm.":
#
# 1. "The passengers spent the night in the waiting room."
# 2. "The sea was flat and the ferry left a little early."
# 3. "Most spiders have eight eyes but see rather badly."
# %% [markdown] ko
# ## 모델은 무엇을 배웠을까요?
#
# 예측은 맞아요. 그런데 왜 맞을까요? 배가 못 떠나면 잘 곳이 필요하다는 것을 이해했을지도 몰라요. 여객선과 승객이 같은 주제라는 것만
# 알아챘을지도 몰라요. 확인하려면 세 번째 종류의 B가 필요해요. 주제는 같지만 이어질 수 *없는* 문장이에요.
#
# "폭풍 때문에 여객선이 떠나지 못했다." 다음에 올 확률을 **예상해 보세요.**
#
# 1. "승객들은 대합실에서 하룻밤을 보냈다."
# 2. "바다가 잔잔해서 여객선은 조금 일찍 떠났다."
# 3. "거미는 대부분 눈이 여덟 개지만 잘 보지 못한다."
# %% predict
candidates = pick(
    en=[second, "The sea was flat and the ferry left a little early.", "Most spiders have eight eyes but see rather badly."],
    ko=[second, "바다가 잔잔해서 여객선은 조금 일찍 떠났다.", "거미는 대부분 눈이 여덟 개지만 잘 보지 못한다."],
)
ranking = session.rank_next_sentences(first, candidates)
assert [candidate.index for candidate in ranking] == [1, 0, 2]  # the impossible sentence is first
show(
    pair_laboratory.candidate_bars(ranking),
    alt=pick(
        en="Three bars. The sentence that contradicts the first one is at the top, the spiders are at the bottom.",
        ko="막대 세 개. 앞 문장과 모순되는 문장이 맨 위에, 거미 문장이 맨 아래에 있어요.",
    ),
)
# %% [markdown] en
# One example can be an accident. The library has twelve such groups of three (see *Test pairs* on the app's page
# [Next sentence](app:next-sentence?nsp=test-pairs)). If the model understood what can follow, the second kind would have a low probability.
# %% [markdown] ko
# 예 하나는 우연일 수 있어요. 라이브러리에는 이런 세 문장 묶음이 열두 개 있어요(앱의 [다음 문장](app:next-sentence?nsp=test-pairs) 화면에서도 볼
# 수 있어요). 모델이 무엇이 이어질 수 있는지 이해했다면 두 번째 종류의 확률이 낮아야 해요.
# %%
results = session.predict_test_pairs()
kinds = pick(
    en={"follows": "follows", "same_topic": "same topic, but impossible", "other_topic": "other topic"},
    ko={"follows": "이어지는 문장", "same_topic": "같은 주제지만 이어질 수 없음", "other_topic": "다른 주제"},
)
mean = {kind: np.mean([result.probability for result in results if result.kind == kind]) for kind in kinds}
right = {kind: sum(result.is_correct for result in results if result.kind == kind) for kind in kinds}
show_table(
    pick(en=("kind of B", "mean p(IsNext)", "correct"), ko=("B의 종류", "p(IsNext)의 평균", "맞힌 수")),
    [(kinds[kind], f"{mean[kind]:.0%}", f"{right[kind]} / 12") for kind in kinds],
)
assert mean["same_topic"] > mean["follows"] > 0.7 and mean["other_topic"] < 0.3
assert right["same_topic"] <= 1
# %% [markdown] en
# ## Sentence order
#
# The impossible sentences get the highest probability of all: they repeat words of A. The model learned topic. That is enough to
# solve the task as it is posed, since a random B nearly always has another topic, and training rewards nothing more. Two answers were given: RoBERTa dropped the task; ALBERT made it harder. In **sentence-order
# prediction** (SOP), both sentences come from the same text, and in half of the pairs they are swapped, so topic does not help.
#
# **Predict.** Our model was trained on NSP. Does it notice if we swap two sentences that follow each other?
# %% [markdown] ko
# ## 문장 순서
#
# 이어질 수 없는 문장의 확률이 가장 높아요. A의 단어를 되풀이하기 때문이에요. 모델은 주제를 배운 거예요. 무작위로 고른 B는 거의 언제나 주제가 다르니까 주제만 알아도 이 태스크를 풀 수 있고, 학습은 그 이상을 요구하지
# 않아요. 해결책이 두 가지 나왔어요. RoBERTa는 이 태스크를 없앴고, ALBERT는 더 어렵게 만들었어요. **문장 순서 예측**(SOP)에서는 두
# 문장이 모두 같은 텍스트에서 오고, 절반은 순서가 바뀌어 있어요. 주제는 도움이 되지 않아요.
#
# **예상해 보세요.** 우리 모델은 NSP로 학습했어요. 이어지는 두 문장의 순서를 바꾸면 알아챌까요?
# %% predict
pairs = [(result.first, result.second) for result in results if result.kind == "follows"]
in_order = np.array([session.next_sentence(a, b).probability for a, b in pairs])
swapped = np.array([session.next_sentence(b, a).probability for a, b in pairs])

noticed = int((swapped < 0.5).sum())
show_table(
    pick(en=("", "mean p(IsNext)"), ko=("", "p(IsNext)의 평균")),
    [(pick(en="in order", ko="바른 순서"), f"{in_order.mean():.0%}"), (pick(en="swapped", ko="바뀐 순서"), f"{swapped.mean():.0%}")],
)
print(f"p < 50 %: {noticed} / {len(pairs)}")
assert noticed <= 4
# %% [markdown] en
# It does not notice: order was never part of the task.
#
# ## Exercise 1
#
# Write down the segments of this pair as a list of 0 and 1, one for each token. Do not call `encode` for the answer.
# %% [markdown] ko
# 알아채지 못해요. 순서는 이 태스크에 들어 있지 않았으니까요.
#
# ## 연습 1
#
# 이 쌍의 세그먼트를 토큰마다 0 또는 1로, 리스트로 적으세요. 답을 쓸 때 `encode`를 부르지 마세요.
# %% exercise 1
pair = pick(en=("Tea is ready.", "Sit down."), ko=("차가 뜨겁다.", "조금 기다려라."))
print(*(token.token for token in session.encode(*pair)))

segments = ...
# %% check 1
true_segments = [token.segment for token in session.encode(*pair)]
check(
    1, segments,
    (lambda a: len(a) == len(true_segments), pick(
        en="The number of entries differs from the number of tokens. [CLS] and both [SEP] count.",
        ko="리스트의 길이가 토큰 수와 달라요. [CLS]와 두 [SEP]도 세요.")),
    (lambda a: set(a) == {0, 1}, pick(en="Use the numbers 0 and 1.", ko="0과 1을 쓰세요.")),
    (lambda a: list(a)[0] == 0 and list(a)[-1] == 1, pick(
        en="[CLS] belongs to the first segment, the last [SEP] to the second.", ko="[CLS]는 첫째, 마지막 [SEP]는 둘째 세그먼트예요.")),
    (lambda a: list(a) == true_segments, pick(
        en="The change is at the wrong place. To which sentence does the first [SEP] belong?",
        ko="바뀌는 자리가 달라요. 첫 [SEP]는 어느 문장에 속할까요?")),
)
# %% solution 1
segments = pick(en=[0] * 6 + [1] * 4, ko=[0] * 8 + [1] * 8)
# %% [markdown] en
# ## Exercise 2
#
# What is the model's loss for the pair `first`, `candidates[1]` if its label is NotNext? Loss: −ln of the probability of the
# label. Use `predict_by_hand` or `session.next_sentence`.
# %% [markdown] ko
# ## 연습 2
#
# 쌍 `first`, `candidates[1]`의 레이블이 NotNext라면 모델의 손실은 얼마일까요? 손실은 레이블의 확률에 −ln을 취한 값이에요.
# `predict_by_hand`나 `session.next_sentence`를 쓰세요.
# %% exercise 2
loss = ...
# %% check 2
p_next = predict_by_hand(first, candidates[1])[0]
check(
    2, loss,
    (lambda a: float(a) >= 0, pick(en="A loss is not negative.", ko="손실은 음수가 아니에요.")),
    (lambda a: not np.isclose(float(a), -np.log(p_next), atol=1e-3), pick(
        en="This is the loss for the label IsNext.", ko="이건 레이블이 IsNext일 때의 손실이에요.")),
    (lambda a: abs(float(a) + np.log(1 - p_next)) < 0.5, pick(
        en="Which of the two probabilities is that of NotNext?", ko="두 확률 가운데 NotNext의 확률은 어느 것일까요?")),
)
# %% solution 2
loss = -np.log(predict_by_hand(first, candidates[1])[1])
print(f"{loss:.2f}")
# %% [markdown] en
# ## Exercise 3
#
# Fool the model the other way: write A and B such that B really follows A, but the model gives IsNext less than 50 %. Whether B
# really follows is for your neighbour to judge.
# %% [markdown] ko
# ## 연습 3
#
# 이번에는 반대로 모델을 속여 보세요. B가 정말로 A에 이어지지만 모델은 IsNext에 50%보다 낮은 확률을 주는 A와 B를 쓰세요. 정말 이어지는지는
# 옆 사람이 판단해요.
# %% exercise 3
surprising_pair = ...  # ("A", "B")
# %% check 3
check(
    3, surprising_pair,
    (lambda a: len(a) == 2 and all(isinstance(text, str) and len(text.split()) >= 2 for text in a), pick(
        en="The answer must be two sentences: (\"…\", \"…\").", ko="답은 문장 두 개여야 해요: (\"…\", \"…\").")),
    (lambda a: session.next_sentence(*a).probability < 0.5, pick(
        en="The model still says IsNext. What did it learn? Avoid that.", ko="모델은 여전히 IsNext라고 해요. 모델이 무엇을 배웠나요? 그것을 피해 보세요.")),
)
# %% solution 3
surprising_pair = pick(
    en=("The phone rang at three in the morning.", "Grandfather was dead."),
    ko=("박물관은 그 그림을 싼값에 샀다.", "몇 해 뒤에 유명한 화가의 작품이라는 사실이 밝혀졌다."),
)
print(f"{session.next_sentence(*surprising_pair).probability:.0%}")
