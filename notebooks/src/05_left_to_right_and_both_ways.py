# %% [markdown] en
# # 5. Left to right, both ways, and shallowly both ways
#
# Three famous models of 2018 differ in what a token may see:
#
# - **GPT** reads from left to right: each token sees itself and what stands before it.
# - **ELMo** has two such readers, one from the left and one from the right, and puts their results side by side at the end.
# - **BERT** lets every token see both sides, in every layer.
#
# ELMo sees both sides too. So why is BERT's paper so proud of "deeply bidirectional"? In this lesson you find a language of three
# words that tells the three apart. (The ELMo of this lesson is built from Transformers; the original used LSTMs.)
# %% [markdown] ko
# # 5. 왼쪽에서 오른쪽으로, 양쪽으로, 얕게 양쪽으로
#
# 2018년에 나온 유명한 모델 셋은 토큰이 무엇을 볼 수 있는지가 달라요.
#
# - **GPT**는 왼쪽에서 오른쪽으로 읽어요. 토큰은 자기 자신과 앞에 있는 토큰만 봐요.
# - **ELMo**는 그런 모델이 둘이에요. 하나는 왼쪽부터, 하나는 오른쪽부터 읽고, 마지막에 두 결과를 나란히 이어 붙여요.
# - **BERT**는 모든 레이어에서 모든 토큰이 양쪽을 다 봐요.
#
# ELMo도 양쪽을 보는데, BERT 논문은 왜 "깊은 양방향"을 그렇게 강조할까요? 이 수업에서는 단어 세 개짜리 언어로 세 모델의 차이를 찾아요. (이
# 수업의 ELMo는 트랜스포머로 만들었어요. 원래 ELMo는 LSTM을 썼어요.)
# %%
import numpy as np
import torch
from torch import nn

import bertlab
from bertlab.config.config import ModelConfig
from bertlab.lessons import check, pick, show_table
from bertlab.nn.bert import Bert
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch


def make_reader(left_to_right, seed):
    torch.manual_seed(seed)
    size = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 64, "max_positions": 16}
    return Bert(ModelConfig(vocab_size=8, left_to_right=left_to_right, hidden_dropout=0, attention_dropout=0, **size))


def make_batch(ids_BT):
    return Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))


for name, left_to_right in (("GPT", True), ("BERT", False)):
    trace = Trace.of("probs")
    with torch.no_grad():
        make_reader(left_to_right, seed=0)(make_batch(torch.tensor([[1, 2, 3, 4, 5]])), trace=trace)
    visible_TT = (torch.cat(trace["probs"]) > 0).all(dim=0)[0].numpy()  # of every layer, head 0
    print(name, *("  " + " ".join("●" if seen else "·" for seen in row) for row in visible_TT), sep="\n")
    assert visible_TT.sum() == (15 if left_to_right else 25)
# %% [markdown] en
# Row by row: what the first, second, … token may see. ELMo is the first picture and its mirror image.
#
# ## One real sentence
#
# What does it cost to see only one side? We cannot ask GPT here, but we can hide one side from BERT: cut the sentence off after
# the gap, or before it.
#
# **Predict.** With which part does the model guess the missing word best: left, right, or both? By how much?
# %% [markdown] ko
# 한 행씩 보면 첫째, 둘째, … 토큰이 볼 수 있는 토큰이에요. ELMo는 첫째 그림과 그것을 뒤집은 그림을 합친 거예요.
#
# ## 실제 문장 하나
#
# 한쪽만 보면 얼마나 손해일까요? 여기에 GPT는 없지만 BERT에게 한쪽을 가릴 수 있어요. 빈칸 뒤나 앞을 잘라 내는 거예요.
#
# **예상해 보세요.** 왼쪽만, 오른쪽만, 양쪽 가운데 언제 빈칸을 가장 잘 맞힐까요? 차이는 얼마나 날까요?
# %% predict
session = bertlab.load(pick(en="strongest", ko="korean"))
left, right, label = pick(
    en=("She was", " tired that she fell asleep.", "so"),
    ko=("이 책은 세계에서 가장 유명한 책", " 하나이다.", "중"),
)


def predict_gap(left, right, label):
    text = f"{left} [MASK]{right}".strip()
    (fill,) = session.fill_mask(text, originals=[label])
    return text, fill.candidates[0].token, fill.original.probability


rows = [predict_gap(left, "", label), predict_gap("", right, label), predict_gap(left, right, label)]
show_table(
    pick(en=("text", "best candidate", f"p({label})"), ko=("텍스트", "첫째 후보", f"p({label})")),
    [(text, best, f"{p:.1%}") for text, best, p in rows],
)
assert rows[2][2] > 2 * (rows[0][2] + rows[1][2])
# %% [markdown] en
# ## A language of three words
#
# Both sides together are worth more than the sum of their parts. But ELMo has both. To see the difference, take a tiny language: a left
# word, a middle word, a right word. The outer words are *red* or *blue*, and a rule decides the middle word, which is masked.
# Three rules:
#
# - **copies left**: the middle word depends on the left word only
# - **copies right**: it depends on the right word only
# - **compares**: one word if the outer words are equal, the other if they differ
# %% [markdown] ko
# ## 단어 세 개짜리 언어
#
# 양쪽을 함께 보면 한쪽씩 본 것을 더한 것보다 나아요. 그런데 ELMo도 양쪽을 봐요. 차이를 보기 위해 아주 작은 언어를 만들어요. 왼쪽 단어, 가운데 단어,
# 오른쪽 단어가 있어요. 바깥 단어는 *빨강* 아니면 *파랑*이고, 가운데 단어는 규칙이 정해요. 가운데를 가리고 맞혀요. 규칙은 세 가지예요.
#
# - **왼쪽을 베낌**: 가운데 단어가 왼쪽 단어에만 달려 있어요.
# - **오른쪽을 베낌**: 오른쪽 단어에만 달려 있어요.
# - **비교함**: 바깥 단어 둘이 같으면 한 단어, 다르면 다른 단어예요.
# %%
OUTER = pick(en=["red", "blue"], ko=["빨강", "파랑"])
RULES = {
    "copies left": lambda left, right: left,
    "copies right": lambda left, right: right,
    "compares": lambda left, right: int(left != right),
}
MIDDLE = {
    "copies left": OUTER,
    "copies right": OUTER,
    "compares": pick(en=["equals", "differs from"], ko=["같다", "다르다"]),
}
rule_names = pick(
    en={name: name for name in RULES}, ko={"copies left": "왼쪽을 베낌", "copies right": "오른쪽을 베낌", "compares": "비교함"}
)
MASK, RIGHT = 4, 2  # ids: left words 0 and 1, right words 2 and 3, the mask 4

inputs_42 = [(left, right) for left in (0, 1) for right in (0, 1)]
ids_BT = torch.tensor([[left, MASK, RIGHT + right] for left, right in inputs_42])
show_table(
    pick(en=("left", "right", *RULES), ko=("왼쪽", "오른쪽", *rule_names.values())),
    [(OUTER[l], OUTER[r], *(MIDDLE[name][rule(l, r)] for name, rule in RULES.items())) for l, r in inputs_42],
)
assert [RULES["compares"](*pair) for pair in inputs_42] == [0, 1, 1, 0]


class Guesser(nn.Module):
    """GPT, ELMo or BERT, and an output layer that chooses between the two middle words."""

    def __init__(self, kind, seed=0):
        super().__init__()
        self.kind = kind
        self.readers = nn.ModuleList(make_reader(kind != "BERT", seed + n) for n in range(2 if kind == "ELMo" else 1))
        self.output = nn.Linear(32 * len(self.readers), 2)

    def forward(self, ids_BT):
        at_mask = [self.readers[0](make_batch(ids_BT)).hidden_BTH[:, 1]]
        if self.kind == "ELMo":  # the second reader gets the sentence from right to left
            at_mask.append(self.readers[1](make_batch(ids_BT.flip(1))).hidden_BTH[:, 1])
        return self.output(torch.cat(at_mask, dim=-1))


def train(kind, rule, steps=120):
    model = Guesser(kind)
    labels_B = torch.tensor([rule(left, right) for left, right in inputs_42])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(ids_BT), labels_B)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        p_label_B = model(ids_BT).softmax(-1)[range(4), labels_B]
    return model, p_label_B.numpy()
# %% [markdown] en
# **Predict.** Which model learns which rule? Draw a table of three models and three rules, and write *yes* or *no* into each of its nine
# cells. Then run the cell. It trains nine models on the four possible sentences until they know them, or never will. A model that
# cannot know gives 50 %.
# %% [markdown] ko
# **예상해 보세요.** 어느 모델이 어느 규칙을 배울까요? 모델 셋과 규칙 셋으로 표를 그리고, 아홉 칸에 *예*나 *아니요*를 적으세요. 그런 다음 셀을
# 실행하세요. 가능한 문장 네 개로 모델 아홉 개를 학습해요. 알 수 없는 모델은 50%라고 해요.
# %% predict
models, results = {}, {}
for kind in ("GPT", "ELMo", "BERT"):
    for name, rule in RULES.items():
        models[kind, name], results[kind, name] = train(kind, rule)

show_table(
    (pick(en="p(right word)", ko="p(맞는 단어)"), *rule_names.values()),
    [(kind, *(f"{results[kind, name].mean():.0%}" for name in RULES)) for kind in ("GPT", "ELMo", "BERT")],
)
learned = {key for key, p_label in results.items() if p_label.min() > 0.9}
assert learned == {
    ("GPT", "copies left"),
    ("ELMo", "copies left"), ("ELMo", "copies right"),
    ("BERT", "copies left"), ("BERT", "copies right"), ("BERT", "compares"),
}
assert all(abs(results[kind, "compares"].mean() - 0.5) < 0.1 for kind in ("GPT", "ELMo"))
# %% [markdown] en
# ## Why ELMo cannot compare
#
# ELMo sees both words, and still cannot compare them. Its output layer *adds*: a score from the left reader, which knows only the
# left word, plus a score from the right reader, which knows only the right word. Call d the score of one middle word minus that of the other.
# For any such sum
#
# d(red, red) + d(blue, blue) = d(red, blue) + d(blue, red)
#
# because both sides contain every word once. To compare, d would have to be positive on the left and negative on the right.
# BERT combines both words below the output layer, so nothing binds it.
# %% [markdown] ko
# ## ELMo가 비교하지 못하는 까닭
#
# ELMo는 두 단어를 다 보는데도 비교하지 못해요. 출력층이 *더하기* 때문이에요. 왼쪽 단어만 아는 모델의 점수와 오른쪽 단어만 아는 모델의 점수를
# 더해요. 가운데 단어 하나의 점수에서 다른 하나의 점수를 뺀 값을 d라고 해요. 이렇게 더한 값은 항상 다음과 같아요.
#
# d(빨강, 빨강) + d(파랑, 파랑) = d(빨강, 파랑) + d(파랑, 빨강)
#
# 양변에 단어가 한 번씩 똑같이 들어 있기 때문이에요. 비교하려면 왼쪽은 양수, 오른쪽은 음수여야 해요. BERT는 출력층 아래에서 두 단어를
# 합치므로 이런 제약이 없어요.
# %%
for kind in ("ELMo", "BERT"):
    with torch.no_grad():
        logits_B2 = models[kind, "compares"](ids_BT)
    d = dict(zip(inputs_42, (logits_B2[:, 0] - logits_B2[:, 1]).tolist()))
    equal, different = d[0, 0] + d[1, 1], d[0, 1] + d[1, 0]
    print(f"{kind:5} {equal:+8.3f} {different:+8.3f}")
    if kind == "ELMo":
        assert np.isclose(equal, different, atol=1e-4)
    else:
        assert equal > 5 and different < -5
# %% [markdown] en
# Real sentences are full of such dependencies on both sides at once: *so tired that*, agreement, the meaning of *bank*. The price
# of
# BERT's way: a model that sees both sides cannot write from left to right, and it must hide words in order to learn, so each
# pass gives it only 15 % of the tokens to predict, where GPT predicts all.
#
# ## Exercise 1
#
# A GPT reads 12 tokens. How many pairs (token, visible token) are there, each token with itself included?
# %% [markdown] ko
# 실제 문장에는 이렇게 양쪽을 한꺼번에 보아야 하는 일이 가득해요. *가장 … 중 하나*, 높임말의 호응, *배*의 뜻이 그래요. BERT의 방식에는 대가가 있어요.
# 양쪽을 보는 모델은 왼쪽에서 오른쪽으로 글을 쓸 수 없어요. 그리고 배우려면 단어를 가려야 해서, 한 번에 토큰의 15%만 예측해요. GPT는 모든
# 토큰을 예측해요.
#
# ## 연습 1
#
# GPT가 토큰 12개를 읽어요. (토큰, 볼 수 있는 토큰) 쌍은 몇 개일까요? 자기 자신도 세요.
# %% exercise 1
visible_pairs = ...
# %% check 1
check(
    1, visible_pairs,
    (lambda a: a != 144, pick(en="That is BERT: every token sees every token.", ko="그건 BERT예요. 모든 토큰이 모든 토큰을 봐요.")),
    (lambda a: a != 66, pick(en="Each token also sees itself.", ko="토큰은 자기 자신도 봐요.")),
    (lambda a: a == np.tri(12).sum(), pick(
        en="The first token sees 1 token, the second 2, … Add them up.", ko="첫째 토큰은 1개, 둘째 토큰은 2개, … 모두 더하세요.")),
)
# %% solution 1
visible_pairs = 12 * 13 // 2
print(visible_pairs)
# %% [markdown] en
# ## Exercise 2
#
# Find a rule that depends on **both** outer words and that ELMo can learn nevertheless. Write it as a function of left and right
# (each 0 or 1) that returns 0 or 1. The check trains an ELMo on it.
# %% [markdown] ko
# ## 연습 2
#
# 바깥 단어 **둘 다**에 달려 있지만 ELMo가 배울 수 있는 규칙을 찾으세요. left와 right(각각 0이나 1)를 받아 0이나 1을 돌려주는 함수로
# 쓰세요. 확인할 때 그 규칙으로 ELMo를 학습해요.
# %% exercise 2
my_rule = ...  # lambda left, right: …
# %% check 2
check(
    2, my_rule,
    (lambda rule: all(int(rule(*pair)) in (0, 1) for pair in inputs_42), pick(
        en="The answer must be a function of two numbers that returns 0 or 1.", ko="답은 수 두 개를 받아 0이나 1을 돌려주는 함수여야 해요.")),
    (lambda rule: rule(0, 0) != rule(0, 1) or rule(1, 0) != rule(1, 1), pick(
        en="It does not depend on the right word.", ko="오른쪽 단어에 달려 있지 않아요.")),
    (lambda rule: rule(0, 0) != rule(1, 0) or rule(0, 1) != rule(1, 1), pick(
        en="It does not depend on the left word.", ko="왼쪽 단어에 달려 있지 않아요.")),
    (lambda rule: train("ELMo", lambda left, right: int(rule(left, right)))[1].min() > 0.9, pick(
        en="ELMo does not learn it: no sum of a left and a right score decides it. Think of rules with *and* or *or*.",
        ko="ELMo가 배우지 못해요. 왼쪽 점수와 오른쪽 점수의 합으로는 결정할 수 없어요. '그리고'나 '또는'이 들어간 규칙을 생각해 보세요.")),
)
# %% solution 2
my_rule = lambda left, right: int(left or right)  # the sum left + right decides: at least 1 or not
# %% [markdown] en
# ## Exercise 3
#
# Find a sentence for `predict_gap` whose missing word needs both sides: with the left part alone less than 5 %, with both more
# than 50 %. Answer with `(left, right, label)`; the right part begins with a space, and the label is one token.
# %% [markdown] ko
# ## 연습 3
#
# 빈칸을 맞히려면 양쪽이 다 필요한 문장을 `predict_gap`으로 찾으세요. 왼쪽만 있으면 5%보다 낮고, 양쪽이 있으면 50%보다 높아야 해요.
# `(왼쪽, 오른쪽, 정답)`으로 답하세요. 빈칸 뒤를 띄어 쓰려면 오른쪽을 공백으로 시작하고, 정답은 토큰 하나여야 해요.
# %% exercise 3
needs_both = ...  # (left, right, label)
# %% check 3
check(
    3, needs_both,
    (lambda a: len(a) == 3 and all(isinstance(text, str) and text for text in a), pick(
        en="The answer must be three texts: left, right, label.", ko="답은 텍스트 세 개여야 해요: 왼쪽, 오른쪽, 정답.")),
    (lambda a: a[2] in session.tokenizer.vocab, pick(
        en="The label is not a single token of the vocabulary.", ko="정답이 어휘 집합에 토큰 하나로 있지 않아요.")),
    (lambda a: predict_gap(a[0], "", a[2])[2] < 0.05, pick(
        en="The left part alone is enough already: 5 % or more.", ko="왼쪽만으로도 5% 이상이에요.")),
    (lambda a: predict_gap(*a)[2] > 0.5, pick(
        en="With both parts, the label still has 50 % or less.", ko="양쪽이 있어도 정답의 확률이 50% 이하예요.")),
)
# %% solution 3
needs_both = pick(en=("She", " not know what to do.", "did"), ko=("서울은 한국에서 가장 큰 도시", " 하나이다.", "중"))
print(*(f"{predict_gap(needs_both[0], part, needs_both[2])[2]:.1%}" for part in ("", needs_both[1])))
