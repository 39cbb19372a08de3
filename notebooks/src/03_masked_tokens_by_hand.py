# %% [markdown] en
# # 3. Masked tokens by hand
#
# How does BERT learn a language from plain text, without a teacher who labels anything? Some tokens are hidden, and the model
# must guess them from the rest. The text itself is the answer sheet. This task is called masked language modelling (MLM).
#
# In this lesson you draw the masks, turn the model's output into probabilities, and compute the loss that training minimises.
#
# ## Drawing the masks
#
# Of all tokens, 15 % are chosen. A chosen token is replaced by `[MASK]` in 80 % of the cases, by a random token in 10 %, and
# left unchanged in 10 %. The model must predict every chosen token, whatever stands there. By hand, for a million tokens:
# %% [markdown] ko
# # 3. 마스크 토큰을 직접 계산하기
#
# 레이블을 붙여 주는 사람 없이 BERT는 어떻게 텍스트만으로 언어를 배울까요? 토큰 몇 개를 가리고, 모델이 나머지를 보고 그 토큰을 맞혀요.
# 정답은 텍스트 안에 이미 있어요. 이 태스크를 마스크드 언어 모델링(MLM)이라고 해요.
#
# 이 수업에서는 마스크를 직접 추첨하고, 모델의 출력을 확률로 바꾸고, 학습이 줄이려는 손실을 계산해요.
#
# ## 마스크 추첨
#
# 모든 토큰 가운데 15%를 골라요. 고른 토큰은 80%의 경우 `[MASK]`로, 10%는 무작위 토큰으로 바꾸고, 10%는 그대로 둬요. 그 자리에 무엇이
# 있든 모델은 고른 토큰을 모두 예측해야 해요. 토큰 백만 개로 직접 해 보면 이래요.
# %%
import numpy as np

import bertlab
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.views import figures

names = pick(
    en={"mask": "becomes [MASK]", "random": "becomes a random token", "unchanged": "stays unchanged"},
    ko={"mask": "[MASK]로 바뀜", "random": "무작위 토큰으로 바뀜", "unchanged": "그대로"},
)
rng = np.random.default_rng(0)
count = 1_000_000
is_chosen = rng.random(count) < 0.15
kinds = rng.choice(list(names), size=count, p=[0.8, 0.1, 0.1])

share_masked = (is_chosen & (kinds == "mask")).mean()
assert abs(is_chosen.mean() - 0.15) < 0.002 and abs(share_masked - 0.12) < 0.002
show_table(
    pick(en=("of all tokens", "share"), ko=("전체 토큰 가운데", "비율")),
    [
        (pick(en="chosen", ko="고른 토큰"), f"{is_chosen.mean():.1%}"),
        *((names[name], f"{(is_chosen & (kinds == name)).mean():.1%}") for name in names),
    ],
)
# %% [markdown] en
# ## One example
#
# The library draws examples as `bertlab pretrain` does. Each seed gives one draw. Below are the chosen tokens of one draw: what
# stands in the text, and what the model reads. The app's page [Pre-training by hand](app:pretraining) shows any number of draws.
# %% [markdown] ko
# ## 예제 하나
#
# 라이브러리는 `bertlab pretrain`과 똑같이 예제를 추첨해요. 시드 하나가 추첨 한 번이에요. 아래는 한 번의 추첨에서 고른 토큰이에요. 텍스트에
# 있는 토큰과 모델이 읽는 토큰을 보여 줘요. 앱의 [손으로 해 보는 사전 학습](app:pretraining) 화면에서는 얼마든지 추첨해 볼 수 있어요.
# %%
session = bertlab.load(pick(en="strongest", ko="korean"))
text = pick(
    en="The ferry leaves the harbour at seven in the morning. It carries cars, bicycles and about two hundred passengers. "
    "In winter, storms often keep it in port. Then the people of the island wait for the next calm day.",
    ko="이 섬은 1974년까지 사람이 살지 않았다. 그해 정부는 섬에 등대를 세웠고 등대지기 가족이 처음으로 이주하였다. "
    "그 뒤 인구가 늘어나 학교와 우체국도 생겼다. 현재 이 섬에는 약 200명이 살고 있다.",
)
example = session.pretraining_example(text, seed=5)

print(" ".join(token.input_token for token in example.tokens))
show_table(
    pick(en=("position", "in the text", "what happens", "the model reads"), ko=("위치", "텍스트", "바꾸는 방법", "모델이 읽는 토큰")),
    [(p.position, p.token, names[p.replacement_kind], p.input_token) for p in example.predictions],
)
for token in example.tokens:
    is_predicted = token.position in [p.position for p in example.predictions]
    assert is_predicted or token.input_token == token.token  # all other tokens are read as they are
# %% [markdown] en
# ## From a vector to a probability
#
# The last layer gives a vector for the masked position. The MLM output layer transforms it once more and multiplies it by the
# **token embeddings** of the whole vocabulary: one score (logit) for each token, high if the vector points in the direction of
# the token's embedding. Softmax turns the logits into probabilities.
#
# **Predict.** What do you put into the gap? And what does the model say? It is small and read little.
# %% [markdown] ko
# ## 벡터에서 확률로
#
# 마지막 레이어는 가린 자리의 벡터를 내놓아요. MLM 출력층은 이 벡터를 한 번 더 변환하고, 어휘 집합 전체의 **토큰 임베딩**과 곱해요.
# 토큰마다 점수(로짓)가 하나씩 나오고, 벡터가 그 토큰의 임베딩과 같은 방향일수록 점수가 높아요. 소프트맥스가 로짓을 확률로 바꿔요.
#
# **예상해 보세요.** 여러분이라면 빈칸에 무엇을 넣을까요? 모델은 무엇이라고 할까요? 이 모델은 작고, 읽은 글도 많지 않아요.
# %% predict
import torch

sentence = pick(en="The cat sat on the [MASK].", ko="그는 서울에서 태어나 대학교를 [MASK] 하였다.")
tokens = session.encode(sentence)
place = next(token.position for token in tokens if token.token == "[MASK]")
last_layer = session.config.num_layers - 1
hidden_H = torch.tensor(session.block(sentence, layer=last_layer, position=place).output_H)

output_layer = session.model.head("mlm")
token_VH = session.model.embeddings.token.weight
with torch.no_grad():
    transformed_H = output_layer.norm(torch.nn.functional.gelu(output_layer.dense(hidden_H)))
    logits_V = (token_VH @ transformed_H + output_layer.bias).numpy()

exponentials_V = np.exp(logits_V - logits_V.max())
probabilities_V = exponentials_V / exponentials_V.sum()

(fill,) = session.fill_mask(sentence)
for candidate in fill.candidates:
    assert np.isclose(probabilities_V[candidate.id], candidate.probability, rtol=1e-2)
assert fill.candidates[0].token == pick(en="table", ko="졸업")
assert 0.1 < fill.candidates[0].probability < 0.5
show(
    figures.mask_bars(fill, lang=language()),
    alt=pick(
        en="Five candidates for the gap as bars; the first is table, with about a fifth of the probability.",
        ko="빈칸 후보 다섯 개의 막대. 첫째는 졸업이고 확률은 약 5분의 2예요.",
    ),
)
# %% [markdown] en
# ## From a probability to a loss
#
# The loss of a prediction is −ln p, where p is the probability of the true token: 0 if the model was certain and right, and
# large if it thought the truth impossible. It is called cross-entropy. Nothing else counts; which wrong tokens were probable
# does not matter. The loss of an example is the mean over its chosen tokens, also over those that were left unchanged.
# %% [markdown] ko
# ## 확률에서 손실로
#
# 예측 하나의 손실은 −ln p예요. p는 정답 토큰의 확률이에요. 모델이 확신했고 맞았으면 0이고, 정답이 불가능하다고 보았으면 아주 커요.
# 이것을 크로스 엔트로피라고 해요. 오답 가운데 무엇의 확률이 높았는지는 상관없어요. 예제의 손실은 고른 토큰에 대한 평균이고, 그대로 둔
# 토큰도 포함해요.
# %%
losses = [-np.log(p.probability) for p in example.predictions]
show_table(
    pick(en=("token", "what happens", "p", "−ln p"), ko=("토큰", "바꾸는 방법", "p", "−ln p")),
    [(p.token, names[p.replacement_kind], f"{p.probability:.1%}", f"{loss:.2f}") for p, loss in zip(example.predictions, losses)],
)
assert np.isclose(np.mean(losses), example.losses.mlm, atol=0.02)
print(f"{np.mean(losses):.2f}   exp: {np.exp(np.mean(losses)):.1f}")
# %% [markdown] en
# The exponential of the mean loss, the perplexity, has a plain meaning: on average, the model was as uncertain as if it had to
# choose among that many equally probable tokens.
#
# ## Why not always [MASK]?
#
# When the model is used later, there is no `[MASK]` in the text. If only masked positions had to be predicted, the model could stop caring about all
# others. The 10 % + 10 % keep it honest: any token might be wrong.
#
# **Predict.** The next cell puts four things into one place: `[MASK]`, the right word, a wrong but plausible word, and an absurd
# word. With the right word in place, does the model simply copy it, with 100 %? Does it believe the plausible word? And the
# absurd one?
# %% [markdown] ko
# 평균 손실에 지수를 취한 값을 퍼플렉서티라고 해요. 뜻은 간단해요. 모델이 평균적으로 그만큼의 토큰 가운데 하나를 같은 확률로 골라야 할
# 때만큼 헷갈렸다는 뜻이에요.
#
# ## 왜 항상 [MASK]로 바꾸지 않을까요?
#
# 나중에 모델을 쓸 때는 텍스트에 `[MASK]`가 없어요. 가린 자리만 예측하게 하면 모델은 다른 자리에 신경 쓰지 않아도 돼요. 10% + 10%가 있으면
# 어떤 토큰이든 틀렸을 수 있으니 모든 자리를 살펴야 해요.
#
# **예상해 보세요.** 다음 셀은 같은 자리에 네 가지를 넣어요. `[MASK]`, 맞는 단어, 틀렸지만 그럴듯한 단어, 터무니없는 단어예요. 맞는 단어가
# 있으면 모델은 100%로 그대로 베낄까요? 그럴듯한 단어는 믿을까요? 터무니없는 단어는요?
# %% predict
sentence, label, plausible, absurd = pick(
    en=("He {} the door and went out.", "opened", "locked", "seven"),
    ko=("그는 서울에서 태어나 대학교를 {}하였다.", "졸업", "설립", "태양"),
)


def predict_at_gap(word):
    (place,) = [token.position for token in session.encode(sentence.format("[MASK]")) if token.token == "[MASK]"]
    output_H = session.block(sentence.format(word), layer=last_layer, position=place).output_H
    with torch.no_grad():
        return session.model.mlm(torch.tensor(output_H)[None])[0].softmax(-1).numpy()


p_label = {word: predict_at_gap(word)[session.tokenizer.vocab[label]] for word in ("[MASK]", label, plausible, absurd)}
p_read = {word: predict_at_gap(word)[session.tokenizer.vocab[word]] for word in (label, plausible, absurd)}
show_table(
    pick(en=("the model reads", f"p({label})", "p(what it reads)"), ko=("모델이 읽는 토큰", f"p({label})", "p(읽은 토큰)")),
    [(word, f"{p_label[word]:.1%}", f"{p_read[word]:.1%}" if word in p_read else "") for word in p_label],
)
assert 0.9 < p_label[label] < 1
assert p_read[plausible] > 0.3 and p_read[absurd] < 0.01
assert p_label[absurd] > p_label["[MASK]"]
# %% [markdown] en
# The model copies, but not blindly. It believes a word that fits, and an absurd word makes it even more certain of the right
# one than `[MASK]` does: something stands there that must have been a different word. This is what the 10 % + 10 % taught it.
#
# ## Exercise 1
#
# A training example has 512 tokens. How many of them does the model read as `[MASK]`, on average? Special tokens are ignored.
# %% [markdown] ko
# 모델은 베끼지만 무턱대고 베끼지는 않아요. 어울리는 단어는 믿어요. 터무니없는 단어가 있으면 `[MASK]`일 때보다 정답을 더 확신해요. 원래 다른
# 단어였을 자리라고 보는 거예요. 10% + 10% 덕분에 배운 거예요.
#
# ## 연습 1
#
# 학습 예제에 토큰이 512개 있어요. 모델이 `[MASK]`로 읽는 토큰은 평균 몇 개일까요? 특수 토큰은 생각하지 않아요.
# %% exercise 1
expected_masks = ...
# %% check 1
check(
    1, expected_masks,
    (lambda a: float(a) > 1, pick(en="A number of tokens is needed, not a share.", ko="비율이 아니라 토큰의 개수를 구하세요.")),
    (lambda a: not np.isclose(float(a), 512 * 0.15, atol=1), pick(
        en="That is the number of chosen tokens. Do all of them become [MASK]?", ko="그건 고른 토큰의 개수예요. 모두 [MASK]가 될까요?")),
    (lambda a: not np.isclose(float(a), 512 * 0.8, atol=1), pick(
        en="The 80 % are a share of the chosen tokens, not of all.", ko="80%는 전체가 아니라 고른 토큰 가운데 비율이에요.")),
    (lambda a: abs(float(a) - 512 * share_masked) < 1, pick(
        en="Multiply: all tokens, the share that is chosen, the share of those that becomes [MASK].",
        ko="전체 토큰 수, 고르는 비율, 그 가운데 [MASK]가 되는 비율을 곱하세요.")),
)
# %% solution 1
expected_masks = 512 * 0.15 * 0.8
print(expected_masks)
# %% [markdown] en
# ## Exercise 2
#
# An untrained model gives every token of the vocabulary the same probability. What is its loss? Use `session.config.vocab_size`.
# (If the loss of your own training run begins far from this number, something is wrong.)
# %% [markdown] ko
# ## 연습 2
#
# 학습하지 않은 모델은 어휘 집합의 모든 토큰에 같은 확률을 줘요. 손실은 얼마일까요? `session.config.vocab_size`를 쓰세요. (직접 학습할 때
# 첫 손실이 이 값과 많이 다르면 무언가 잘못된 거예요.)
# %% exercise 2
loss_without_training = ...
# %% check 2
check(
    2, loss_without_training,
    (lambda a: float(a) > 0, pick(
        en="A loss is not negative. What is the sign of the logarithm of a number below 1?", ko="손실은 음수가 아니에요. 1보다 작은 수의 로그는 부호가 어떨까요?")),
    (lambda a: not np.isclose(float(a), np.log2(session.config.vocab_size), atol=0.05), pick(
        en="This is the logarithm to base 2 (bits). The loss uses the natural logarithm (nats).", ko="밑이 2인 로그(비트)예요. 손실은 자연로그(내트)를 써요.")),
    (lambda a: abs(np.exp(float(a)) / session.config.vocab_size - 1) < 0.02, pick(
        en="Begin with p: one of how many tokens? Then −ln p.", ko="p부터 구하세요. 토큰 몇 개 가운데 하나일까요? 그다음 −ln p예요.")),
)
# %% solution 2
loss_without_training = -np.log(1 / session.config.vocab_size)
print(f"{loss_without_training:.2f}")
# %% [markdown] en
# ## Exercise 3
#
# Write a sentence with one `[MASK]` of which the model is at least 90 % certain. What makes a gap easy? The page
# [Fill mask](app:fill-mask) of the app is good for trying.
# %% [markdown] ko
# ## 연습 3
#
# 모델이 90% 이상 확신하는 `[MASK]`가 하나 있는 문장을 쓰세요. 어떤 빈칸이 쉬울까요? 앱의 [빈칸 채우기](app:fill-mask) 화면에서 여러 문장을
# 시험해 볼 수 있어요.
# %% exercise 3
easy = ...
# %% check 3
check(
    3, easy,
    (lambda a: isinstance(a, str) and a.count("[MASK]") == 1, pick(
        en="The answer must be a text with exactly one [MASK].", ko="답은 [MASK]가 정확히 하나 있는 텍스트여야 해요.")),
    (lambda a: len(a.split()) >= 4, pick(en="Write a whole sentence.", ko="문장을 온전히 써 주세요.")),
    (lambda a: session.fill_mask(a)[0].candidates[0].probability >= 0.9, pick(
        en="The best candidate has less than 90 %. Fixed phrases and grammar help more than knowledge does.",
        ko="첫째 후보의 확률이 90%보다 낮아요. 지식보다는 굳은 표현이나 문법에 기대어 보세요.")),
)
# %% solution 3
easy = pick(en="The ship sank in the middle [MASK] the night.", ko="이 섬은 1974년까지 사람이 살지 않[MASK].")
print(*[(candidate.token, f"{candidate.probability:.1%}") for candidate in session.fill_mask(easy)[0].candidates[:3]])
