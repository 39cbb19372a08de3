# %% [markdown] en
# # 8. Answers in a passage
#
# Who, when, how far: BERT answers such questions by *pointing*. It writes nothing; it chooses the first and the last token of the
# answer in a passage. For that, fine-tuning on the task SQuAD adds only two vectors to the model, called **S** and **E** in the
# paper. In this lesson you compute the choice by hand, and then the harder one: when to say nothing.
#
# The input is a pair again: `[CLS] question [SEP] passage [SEP]`.
# %% [markdown] ko
# # 8. 지문에서 답 찾기
#
# 누가, 언제, 얼마나 멀리. BERT는 이런 질문에 *가리키기*로 답해요. 글을 쓰지 않고, 지문에서 답의 첫 토큰과 마지막 토큰을 골라요. 이를 위해
# SQuAD로 파인튜닝할 때 모델에 벡터 두 개만 더해요. 논문에서는 **S**와 **E**라고 불러요. 이 수업에서는 답을 고르는 과정을 직접 계산하고,
# 더 어려운 문제, 곧 언제 답하지 않을지도 살펴봐요.
#
# 함께 들어 있는 질의응답 체크포인트는 영어로 학습했기 때문에 지문과 질문이 영어예요. 한국어 체크포인트를 이야기 세계의 질문으로 파인튜닝해 쓰기에는
# 이 수업의 1분 남짓한 시간이 모자라요(`docs/lab-notebook.md`). 지문은 이런 내용이에요. "북쪽 곶의 등대는 한 해 겨울에
# 배 세 척이 바위에 부딪힌 뒤 1874년에 항만 회사가 세웠다. 등불에는 처음에 고래기름을, 나중에는 등유를 썼고, 1931년부터는 전구의 불빛이
# 35킬로미터 밖에서도 보인다. 등불이 자동으로 바뀐 1987년에 마지막 등대지기가 떠났고, 옆집은 지금 작은 박물관이며 4월부터 10월까지 연다."
#
# 입력은 이번에도 쌍이에요: `[CLS] 질문 [SEP] 지문 [SEP]`.
# %%
import numpy as np
import torch

import bertlab
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.text.batch import collate
from bertlab.views import figures

session = bertlab.load("squad")
passage = (
    "The lighthouse on the northern cape was built in 1874 by the harbour company, after three ships had struck the rocks in one "
    "winter. Its lamp burned whale oil at first and kerosene later; since 1931 an electric bulb has been seen from thirty-five "
    "kilometres away. The last keeper left in 1987, when the lamp was automated, and the house beside it is now a small museum, "
    "open from April to October."
)
question = "When did the last keeper leave?"

tokens = session.encode(question, passage)
passage_start = next(token.position for token in tokens if token.segment == 1)
print(len(tokens), "T;", *(token.token for token in tokens[: passage_start + 6]), "…")
assert tokens[passage_start - 1].token == tokens[-1].token == "[SEP]"
# %% [markdown] en
# ## Two vectors
#
# Let T_i be the vector of token i after the last layer. Its product with S, **S · T_i**, says how well the answer *starts* at i;
# **E · T_i** says how well it *ends* there. A softmax over all tokens gives two probabilities for each token. That is the whole
# output layer (each product also gets a constant, the bias).
# %% [markdown] ko
# ## 벡터 두 개
#
# 마지막 레이어를 지난 i번 토큰의 벡터를 T_i라고 해요. S와의 곱 **S · T_i**는 답이 i에서 *시작하기* 얼마나 알맞은지, **E · T_i**는 거기서
# *끝나기* 얼마나 알맞은지를 나타내요. 모든 토큰에 소프트맥스를 적용하면 토큰마다 확률이 두 개 나와요. 출력층은 이게 전부예요(곱마다 상수인
# 편향을 더해요).
# %%
output_layer = session.model.head("span")
S_H, E_H = output_layer.weight.detach().numpy()
S_bias, E_bias = output_layer.bias.detach().numpy()


def compute_logits(question):
    batch = collate([session.tokenizer.encode(question, passage)], session.tokenizer.pad_id)
    with torch.inference_mode():
        hidden_TH = session.model(batch).hidden_BTH[0].numpy()
    return hidden_TH @ S_H + S_bias, hidden_TH @ E_H + E_bias


def softmax(logits_T):
    exponentials_T = np.exp(logits_T - logits_T.max())
    return exponentials_T / exponentials_T.sum()


start_T, end_T = compute_logits(question)
(reading,) = session.xray(question, passage).readings
assert np.allclose(softmax(start_T), reading.start_probs_T, atol=1e-3)
assert np.allclose(softmax(end_T), reading.end_probs_T, atol=1e-3)
print("S, E:", S_H.shape, E_H.shape, "  ", tokens[start_T.argmax()].token, "…", tokens[end_T.argmax()].token)
show(
    figures.span_curves(session.answer(question, passage), passage, lang=language()),
    alt=pick(
        en="Two curves over the words of the passage, start and end; both have one peak, at 1987.",
        ko="지문의 단어를 따라 그린 시작과 끝의 확률 곡선 두 개. 둘 다 1987에서 높아요.",
    ),
)
# %% [markdown] en
# ## Start and end together
#
# Could we simply take the most probable start and the most probable end?
#
# **Predict.** What can go wrong if both are chosen independently? The next cell does it for a *why* question.
# %% [markdown] ko
# ## 시작과 끝을 함께 골라요
#
# 확률이 가장 높은 시작과 가장 높은 끝을 그냥 고르면 될까요?
#
# **예상해 보세요.** 둘을 따로 고르면 어떤 문제가 생길 수 있을까요? 다음 셀은 *왜*를 묻는 질문으로 해 봐요.
# %% predict
why = "Why was the lighthouse built?"
why_tokens = session.encode(why, passage)
why_start_T, why_end_T = compute_logits(why)
best_start, best_end = why_start_T[1:].argmax() + 1, why_end_T[1:].argmax() + 1  # without [CLS]

for name, place in ((pick(en="start", ko="시작"), best_start), (pick(en="end", ko="끝"), best_end)):
    around = " ".join(token.token for token in why_tokens[place - 3 : place + 4])
    print(f"{name}: {place:3} {why_tokens[place].token:8} … {around} …")
assert best_start > best_end
# %% [markdown] en
# The best end lies *before* the best start: the model hesitates between two places. So all pairs (i, j) compete with the score
# **S · T_i + E · T_j**, and only those are allowed that lie in the passage, end at or after their start, and are not longer than
# 30 tokens. With an array of all pairs this is three lines.
# %% [markdown] ko
# 가장 좋은 끝이 가장 좋은 시작보다 *앞*에 있어요. 모델이 두 곳 사이에서 망설이는 거예요. 그래서 모든 쌍 (i, j)를 점수 **S · T_i + E · T_j**로
# 비교해요. 지문 안에 있고, 끝이 시작과 같거나 뒤이고, 30토큰보다 길지 않은 쌍만 허용해요. 모든 쌍의 배열을 만들면 세 줄이면 돼요.
# %%
def find_best_span(question):
    tokens = session.encode(question, passage)
    start_T, end_T = compute_logits(question)
    is_passage_T = np.array([token.segment == 1 and not token.special for token in tokens])

    scores_TT = start_T[:, None] + end_T[None, :]
    length_TT = np.arange(len(tokens))[None, :] - np.arange(len(tokens))[:, None] + 1
    allowed_TT = is_passage_T[:, None] & is_passage_T[None, :] & (1 <= length_TT) & (length_TT <= 30)
    scores_TT = np.where(allowed_TT, scores_TT, -np.inf)

    i, j = np.unravel_index(scores_TT.argmax(), scores_TT.shape)
    no_answer_score = start_T[0] + end_T[0]  # position 0 is [CLS]
    return passage[tokens[i].start : tokens[j].end], scores_TT[i, j], no_answer_score


rows = []
for each in (question, why, "What did the lamp burn at first?"):
    text, score, _ = find_best_span(each)
    best = session.answer(each, passage).answers[0]
    assert text == best.text and np.isclose(score, best.score, atol=0.02)
    rows.append((each, text, f"{score:.1f}"))
show_table(pick(en=("question", "best span", "score"), ko=("질문", "가장 좋은 답 구간", "점수")), rows)
# %% [markdown] en
# ## Questions without an answer
#
# There is always a best span, even if the passage does not answer the question. In SQuAD 2.0, such questions are trained to
# point at `[CLS]`. So "no answer" has a score too, **S · C + E · C**, where C is the vector of `[CLS]`. The *margin* is that score
# minus the score of the best span: the higher, the more likely there is no answer.
#
# **Predict.** The first eight questions below have an answer in the passage, the last eight have none. Will every margin of the
# second group be higher than every margin of the first? Which question without an answer will fool the model most?
# %% [markdown] ko
# ## 답이 없는 질문
#
# 지문에 답이 없어도 가장 좋은 답 구간은 언제나 있어요. SQuAD 2.0에서는 이런 질문에 `[CLS]`를 가리키도록 학습해요. 그래서 "답 없음"에도
# 점수가 있어요. `[CLS]`의 벡터를 C라고 하면 **S · C + E · C**예요. 이 점수에서 가장 좋은 답 구간의 점수를 뺀 값이 클수록 답이 없을
# 가능성이 높아요. 아래에서는 이 값을 차이라고 불러요.
#
# **예상해 보세요.** 아래 질문 가운데 앞의 여덟 개는 지문에 답이 있고 뒤의 여덟 개는 없어요. 둘째 묶음의 차이가 첫째 묶음의 차이보다 모두
# 클까요? 답이 없는 질문 가운데 모델을 가장 잘 속이는 것은 무엇일까요?
# %% predict
answerable = [
    "When did the last keeper leave?",
    "How far can the light be seen?",
    "Why was the lighthouse built?",
    "What did the lamp burn at first?",
    "Who built the lighthouse?",
    "When is the museum open?",
    "How many ships struck the rocks?",
    "What is the house now?",
]
unanswerable = [
    "How much does the museum cost?",
    "How many people visit the museum?",
    "Who painted the lighthouse?",
    "Where were the ships going?",
    "When did the museum burn down?",
    "What colour is the lighthouse?",
    "What was the name of the last keeper?",
    "When was the harbour built?",
]
margins, rows = {}, []
for each in answerable + unanswerable:
    text, score, no_answer_score = find_best_span(each)
    margins[each] = no_answer_score - score
    rows.append((each, text, f"{margins[each]:+.1f}"))
    assert np.isclose(margins[each], session.answer(each, passage).no_answer_margin, atol=0.05)
show_table(pick(en=("question", "best span", "margin"), ko=("질문", "가장 좋은 답 구간", "차이")), rows)

mean_margins = [np.mean([margins[each] for each in group]) for group in (answerable, unanswerable)]
assert mean_margins[0] < mean_margins[1]
assert min(margins[each] for each in unanswerable) < max(margins[each] for each in answerable)  # the groups overlap
assert min(unanswerable, key=margins.get) == "When was the harbour built?"
# %% [markdown] en
# ## The threshold τ
#
# The groups overlap: *When was the harbour built?* gets a confident wrong answer, since the passage says "harbour" and "built" in one
# sentence. A threshold τ must decide: if the margin is greater than τ, the model says "no answer". Every τ makes mistakes;
# a low τ refuses good questions, a high τ answers bad ones. The τ of the checkpoint was chosen on held-out questions.
# %% [markdown] ko
# ## 임계값 τ
#
# 두 묶음이 겹쳐요. "When was the harbour built?"에는 자신 있게 틀린 답을 해요. 지문의 한 문장에 "harbour"와 "built"가 함께 나오기 때문이에요.
# 임계값 τ로 결정해야 해요. 차이가 τ보다 크면 모델은 "답 없음"이라고 해요. 어떤 τ든 실수를 해요. τ가 낮으면 답할 수 있는 질문에 답하지
# 않고, 높으면 답이 없는 질문에 답해요. 체크포인트의 τ는 학습에 쓰지 않은 질문으로 골랐어요.
# %%
thresholds = np.linspace(-12, 12, 97)
answered = np.array([sum(margins[each] <= tau for each in answerable) for tau in thresholds])
refused = np.array([sum(margins[each] > tau for each in unanswerable) for tau in thresholds])
tau = session.answer(question, passage).null_threshold

figure = figures.empty_figure(height=320)
for counts, name, dash in (
    (answered, pick(en="answered, with an answer", ko="답이 있고 답함"), "solid"),
    (refused, pick(en="refused, without an answer", ko="답이 없고 답하지 않음"), "dot"),
    (answered + refused, pick(en="right decisions", ko="옳은 결정"), "dash"),
):
    figure.add_scatter(x=thresholds, y=counts, name=name, line={"dash": dash, "shape": "hv"})
figure.add_vline(tau, line_dash="dot", annotation_text=f"τ = {tau:.1f}")
figure.update_xaxes(title="τ").update_yaxes(range=[0, 16.5], showgrid=True, gridcolor=figures.GRID)
show(
    figure,
    alt=pick(
        en="Counts over tau: answered questions rise, refused ones fall, and the right decisions are highest in between.",
        ko="τ에 따른 질문 수. 답한 질문은 늘고 답하지 않은 질문은 줄어요. 옳은 결정은 그 사이에서 가장 많아요.",
    ),
)
right = (answered + refused).max()
assert 8 < right < 16  # better than always answering, but not perfect
print(f"{right} / 16", f"τ = {tau:.1f}: {sum(m <= tau for q, m in margins.items() if q in answerable)} + {sum(m > tau for q, m in margins.items() if q in unanswerable)}")
# %% [markdown] en
# The app's page [Question answering](app:answer?question=When did the last keeper leave?) finds answers in your own passages, and
# [Answer x-ray](app:xray?question=When did the last keeper leave?) shows all of the above for any question and passage.
#
# ## Exercise 1
#
# A passage of five tokens with these logits: which span wins? Answer with `(i, j)`, both counted from 0, and i ≤ j. Work it out
# on paper.
# %% [markdown] ko
# 앱의 [질문 답변](app:answer) 화면은 여러분의 지문에서 답을 찾아 주고, [답변 엑스레이](app:xray) 화면에서는 어떤 질문과 지문으로든 이 모든
# 것을 볼 수 있어요.
#
# ## 연습 1
#
# 토큰이 다섯 개인 지문의 로짓이 다음과 같아요. 어느 구간이 이길까요? 0부터 센 `(i, j)`로 답하세요. i ≤ j여야 해요. 종이에 계산해 보세요.
# %% exercise 1
start_logits = [0.5, 2.0, -1.0, 4.0, 0.0]
end_logits = [1.0, 5.0, 3.0, 0.5, 2.5]

best_pair = ...  # (i, j)
# %% check 1
check(
    1, best_pair,
    (lambda a: len(a) == 2 and all(0 <= n < 5 for n in a), pick(
        en="The answer must be two positions from 0 to 4.", ko="답은 0부터 4까지의 위치 두 개여야 해요.")),
    (lambda a: a[0] <= a[1], pick(en="An answer cannot end before it starts.", ko="답은 시작보다 앞에서 끝날 수 없어요.")),
    (lambda a: start_logits[a[0]] + end_logits[a[1]] == max(
        start_logits[i] + end_logits[j] for i in range(5) for j in range(i, 5)), pick(
        en="There is an allowed pair with a higher sum. Compare the two best starts.", ko="허용되는 쌍 가운데 합이 더 큰 것이 있어요. 가장 좋은 시작 두 개를 비교해 보세요.")),
)
# %% solution 1
best_pair = (1, 1)  # 2.0 + 5.0 = 7.0; the best start, 3, could only end at 3 or 4: 4.0 + 2.5 = 6.5
# %% [markdown] en
# ## Exercise 2
#
# A cautious teacher wants no wrong answers at all: choose a `strict_tau` with which every question of `unanswerable` is refused.
# But as many questions of `answerable` as possible should still be answered. The margins are in the dictionary `margins`.
# %% [markdown] ko
# ## 연습 2
#
# 신중한 선생님은 틀린 답을 하나도 원하지 않아요. `unanswerable`의 모든 질문에 답하지 않게 되는 `strict_tau`를 고르세요. 다만
# `answerable`의 질문에는 될 수 있는 대로 많이 답해야 해요. 차이는 딕셔너리 `margins`에 있어요.
# %% exercise 2
strict_tau = ...
# %% check 2
def count_answered(tau, group):
    return sum(margins[each] <= tau for each in group)


check(
    2, strict_tau,
    (lambda a: np.isfinite(float(a)), pick(en="The answer must be a number.", ko="답은 수여야 해요.")),
    (lambda a: count_answered(a, unanswerable) == 0, pick(
        en="With this τ, a question without an answer is still answered. Refused means: margin > τ.",
        ko="이 τ로는 답이 없는 질문에 아직 답해요. 차이 > τ일 때 답하지 않아요.")),
    (lambda a: count_answered(a, answerable) == count_answered(min(margins[q] for q in unanswerable) - 1e-6, answerable), pick(
        en="It is stricter than necessary: some questions are refused in vain.", ko="필요 이상으로 엄격해요. 답해도 되는 질문까지 답하지 않아요.")),
)
# %% solution 2
strict_tau = min(margins[each] for each in unanswerable) - 0.01
print(f"τ = {strict_tau:.2f}: {sum(margins[each] <= strict_tau for each in answerable)} / 8")
# %% [markdown] en
# ## Exercise 3
#
# Ask a question in English that the passage does not answer, but that the model answers with the checkpoint's own τ. What kind
# of question fools it?
# %% [markdown] ko
# ## 연습 3
#
# 지문에 답이 없지만 모델이 체크포인트의 τ로도 답하는 질문을 영어로 하나 만드세요. 어떤 질문에 속을까요?
# %% exercise 3
trick_question = ...
# %% check 3
check(
    3, trick_question,
    (lambda a: isinstance(a, str) and a.strip().endswith("?") and len(a.split()) >= 4, pick(
        en="The answer must be a question of at least four words, with a question mark.", ko="답은 네 단어 이상이고 물음표로 끝나는 질문이어야 해요.")),
    (lambda a: a not in margins, pick(en="This one is from the lesson.", ko="수업에 나온 질문이에요.")),
    (lambda a: not session.answer(a, passage).refused, pick(
        en="The model refuses. Use words of the passage, and ask for something that could be a name, a number or a year.",
        ko="모델이 답하지 않아요. 지문의 단어를 쓰고, 이름이나 수, 연도처럼 보이는 것을 물어보세요.")),
)
# %% solution 3
trick_question = "When was the museum built?"
print(session.answer(trick_question, passage).text)
