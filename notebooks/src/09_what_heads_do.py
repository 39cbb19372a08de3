# %% [markdown] en
# # 9. What heads do, and whether attention explains
#
# A picture of attention invites a story: "the model looked at *this* word, so it decided *that*". In this lesson you test such
# stories. First you sort the heads by what they look at. Then you switch heads off and see which ones a prediction really needs.
# Last, you compare the attention to a word with the effect of that word.
#
# ## Patterns
#
# Many heads do something simple: they look at the token before, the token after, the token itself, at `[CLS]` or `[SEP]`. For
# each head, `head_roles` finds the pattern that gets the largest share of its attention. By hand for one pattern:
# %% [markdown] ko
# # 9. 헤드가 하는 일, 그리고 어텐션은 설명이 될까요?
#
# 어텐션 그림을 보면 "모델이 *이* 단어를 보았으니 *저렇게* 판단했다"고 이야기하고 싶어져요. 이 수업에서는 그런 이야기를 시험해 봐요. 먼저
# 헤드를 무엇을 보는지에 따라 나눠요. 다음에는 헤드를 꺼서 예측에 정말 필요한 헤드를 찾아요. 마지막으로 단어에 주는 어텐션과 그 단어의
# 효과를 비교해요.
#
# ## 패턴
#
# 단순한 일을 하는 헤드가 많아요. 바로 앞 토큰, 바로 뒤 토큰, 자기 자신, `[CLS]`나 `[SEP]`를 봐요. `head_roles`는 헤드마다 어텐션을 가장 많이
# 주는 패턴을 찾아요. 패턴 하나는 직접 계산해 봐요.
# %%
from collections import Counter

import numpy as np

import bertlab
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.views import labels
from bertlab.abilities.surgery import figures as change_figures

session = bertlab.load(pick(en="strongest", ko="korean"))
sentence = pick(en="He opened the [MASK] and went out.", ko="그는 서울에서 태어나 대학교를 [MASK] 하였다.")
layers, heads = session.config.num_layers, session.config.num_heads

attention = session.attention(sentence)
is_word_T = np.array([not token.special for token in attention.tokens])
previous_LN = np.diagonal(attention.probs_LNTT, offset=-1, axis1=2, axis2=3)[..., is_word_T[1:]].mean(axis=-1)

roles = session.head_roles(sentence)
for layer in range(layers):
    for head in range(heads):
        if roles.names_LN[layer][head] == "previous":
            assert np.isclose(previous_LN[layer, head], roles.share_LN[layer, head], atol=1e-4)

names = pick(
    en={"previous": "previous token", "next": "next token", "itself": "the token itself", "same": "same word elsewhere"},
    ko={"previous": "바로 앞 토큰", "next": "바로 뒤 토큰", "itself": "자기 자신", "same": "다른 곳의 같은 단어"},
)
counts = Counter(name for row in roles.names_LN for name in row)
rows = []
for name, count in counts.most_common():
    share, place = max((roles.share_LN[l, n], f"{l}.{n}") for l in range(layers) for n in range(heads) if roles.names_LN[l][n] == name)
    rows.append((names.get(name, name), count, place, f"{share:.0%}"))
show_table(
    pick(en=("pattern", "heads", "clearest (layer.head)", "its share"), ko=("패턴", "헤드 수", "가장 뚜렷한 헤드(레이어.헤드)", "비율")), rows
)
assert roles.share_LN.max() > 0.9
# %% [markdown] en
# ## Switching a head off
#
# A clear pattern shows what a head looks at, not what it is good for. A direct test is ablation: set the output of one head to
# zero, and see how the prediction changes. The change is measured in log-odds, log(p / (1 − p)): −1 means that the odds of the
# prediction fall to about a third. First one head by hand, then all.
#
# **Predict.** Which heads will the prediction need most: those with the clearest patterns? And how many heads matter at all?
# %% [markdown] ko
# ## 헤드 끄기
#
# 패턴이 뚜렷하면 헤드가 무엇을 보는지는 알 수 있지만 무엇에 쓸모가 있는지는 몰라요. 직접 시험하는 방법이 어블레이션이에요. 헤드 하나의
# 출력을 0으로 만들고 예측이 어떻게 달라지는지 봐요. 변화는 로그 오즈 log(p / (1 − p))로 재요. −1이면 예측의 오즈가 약 3분의 1로 줄어요.
# 먼저 헤드 하나를 직접 해 보고, 다음에 모든 헤드를 해요.
#
# **예상해 보세요.** 예측에 가장 필요한 헤드는 패턴이 가장 뚜렷한 헤드일까요? 조금이라도 중요한 헤드는 몇 개나 될까요?
# %% predict
effects = session.head_effects("masked_lm", sentence)

layer, head = pick(en=(1, 8), ko=(0, 0))
change = session.intervene("masked_lm", sentence, changes=f"{layer}.{head}")
outcome = change.outcomes[0]
by_hand = np.log(outcome.after / (1 - outcome.after)) - np.log(outcome.before / (1 - outcome.before))
assert np.isclose(by_hand, effects.effects_LN[layer, head], atol=0.02)
assert effects.effects_LN.argmin() == layer * heads + head  # no head is needed more than this one

print(f"{effects.label}: {outcome.before:.1%} -> {outcome.after:.1%} ({layer}.{head}: {names[roles.names_LN[layer][head]]})")
show(
    change_figures.head_map(effects, lang=language()),
    alt=pick(
        en="A map of all heads. A few are dark blue: without them the prediction becomes less probable. Most are pale.",
        ko="모든 헤드의 지도. 몇 개는 진한 파란색이에요. 그 헤드가 없으면 예측의 확률이 낮아져요. 나머지는 대부분 옅어요.",
    ),
)
assert (np.abs(effects.effects_LN) < 1).mean() > 0.5  # most heads change little by themselves
# %% [markdown] en
# ## How many heads can go?
#
# Most heads matter little by themselves. Then let us switch off half of all heads at once: once the half with the smallest effects, and
# once a random half.
#
# **Predict** what happens to the prediction in both cases.
# %% [markdown] ko
# ## 헤드를 몇 개까지 꺼도 될까요?
#
# 헤드 하나만 보면 대부분 크게 중요하지 않아요. 그렇다면 헤드의 절반을 한꺼번에 꺼 봐요. 한 번은 효과가 가장 작은 절반, 한 번은 무작위로 고른
# 절반이에요.
#
# 두 경우에 예측이 어떻게 될지 **예상해 보세요.**
# %% predict
def ablate(chosen):
    line = ",".join(f"{index // heads}.{index % heads}" for index in chosen)
    change = session.intervene("masked_lm", sentence, changes=line)
    return change.outcomes[change.top].label, change.outcomes[0].after


half = layers * heads // 2
weakest = np.abs(effects.effects_LN).ravel().argsort()[:half]
random_half = np.random.default_rng(0).permutation(layers * heads)[:half]

before = outcome.before
label_weakest, after_weakest = ablate(weakest)
label_random, after_random = ablate(random_half)
show_table(
    pick(en=("switched off", f"p({effects.label})", "best candidate"), ko=("끈 헤드", f"p({effects.label})", "첫째 후보")),
    [
        (pick(en="none", ko="없음"), f"{before:.1%}", effects.label),
        (pick(en="weakest half", ko="효과가 작은 절반"), f"{after_weakest:.1%}", label_weakest),
        (pick(en="random half", ko="무작위 절반"), f"{after_random:.1%}", label_random),
    ],
)
assert label_weakest == effects.label and after_weakest > before / 2
assert label_random != effects.label and after_random < 0.01
# %% [markdown] en
# Half of the heads can go, if you know which. (They were chosen for this one sentence; another sentence needs others.) The app's
# page [Head surgery](app:heads) does this with clicks.
#
# ## Attention to a word, effect of a word
#
# Now a model that classifies film reviews. Which words made it decide? Two measures:
#
# - **attention**: how much `[CLS]`, from whose vector the label is computed, attends to the word in the last layer
# - **effect**: how far the log-odds of the label fall if the word is replaced by `[MASK]`
#
# **Predict.** Do both measures put the same word first?
# %% [markdown] ko
# 어느 헤드인지 알면 절반을 꺼도 돼요. (이 문장 하나에 맞춰 고른 헤드예요. 다른 문장에는 다른 헤드가 필요해요.) 앱의
# [헤드 수술](app:heads) 화면에서는 클릭으로 해 볼 수 있어요.
#
# ## 단어에 주는 어텐션, 단어의 효과
#
# 이번에는 영화평을 분류하는 모델이에요. 어떤 단어 때문에 그렇게 판단했을까요? 두 가지로 재요.
#
# - **어텐션**: 레이블은 `[CLS]`의 벡터에서 계산해요. 마지막 레이어에서 `[CLS]`가 그 단어를 얼마나 보는지
# - **효과**: 그 단어를 `[MASK]`로 바꾸면 레이블의 로그 오즈가 얼마나 낮아지는지
#
# **예상해 보세요.** 두 방법에서 첫째 단어가 같을까요?
# %% predict
classifier = bertlab.load(pick(en="sst2", ko="nsmc"))


def measure_words(review):
    effects = classifier.word_effects(review)
    attention = classifier.attention(review)
    from_cls_T = attention.probs_LNTT[-1, :, 0].mean(axis=0)  # last layer, mean over the heads, from position 0
    shares = [
        sum(from_cls_T[t.position] for t in attention.tokens if not t.special and word.start <= t.start and t.end <= word.end)
        for word in effects.words
    ]
    return [word.text for word in effects.words], np.array(shares), np.array([word.effect for word in effects.words])


review = pick(en="The music is beautiful but the film itself is a mess.", ko="처음은 느리지만 마지막 삼십 분이 정말 놀라운 영화다.")
words, shares, word_effects = measure_words(review)
show_table(
    pick(en=("word", "attention", "effect"), ko=("단어", "어텐션", "효과")),
    [(word, f"{share:.0%}", f"{effect:+.2f}") for word, share, effect in zip(words, shares, word_effects)],
)
assert shares.argmax() == word_effects.argmax()  # both put the same word first
show(
    labels.word_bars(classifier.word_effects(review), lang=language()),
    alt=pick(
        en="Bars with the effect of every word; mess has by far the longest.",
        ko="단어마다 효과를 나타낸 막대. 영화다가 가장 길어요.",
    ),
)
# %% [markdown] en
# ## Agreement, measured
#
# The first word agrees. What about the others, and other reviews? The rank correlation (Spearman) compares the order of the words by
# attention with their order by the size of their effect: 1 if equal, 0 if unrelated.
# %% [markdown] ko
# ## 얼마나 일치하는지 재어 봐요
#
# 첫째 단어는 같아요. 다른 단어와 다른 영화평은 어떨까요? 순위 상관 계수(스피어만)는 어텐션으로 매긴 단어의 순서와 효과의 크기로 매긴 순서를
# 비교해요. 같으면 1, 관계가 없으면 0이에요.
# %%
reviews = pick(
    en=[
        "A quiet, lovely film with a surprisingly funny script.",
        "The plot is dull and the actors look bored.",
        "I expected nothing and was moved to tears by the ending.",
        "Not a single joke works in this long and empty comedy.",
        "A warm and clever story about two brothers.",
        review,
    ],
    ko=[
        review,
        "배우들 연기도 어색하고 이야기도 지루해요.",
        "기대 없이 봤는데 결말에서 눈물이 났어요.",
        "웃긴 장면이 하나도 없는 길고 지루한 코미디예요.",
        "두 형제의 따뜻하고 영리한 이야기예요.",
        "음악은 아름답지만 영화는 엉망이에요.",
    ],
)


def correlate_ranks(a, b):
    return np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1]


correlations = []
for each in reviews:
    _, shares, word_effects = measure_words(each)
    correlations.append(correlate_ranks(shares, np.abs(word_effects)))
show_table(pick(en=("review", "rank correlation"), ko=("영화평", "순위 상관 계수")), [(r, f"{c:+.2f}") for r, c in zip(reviews, correlations)])
assert min(correlations) < 0.2 and max(correlations) > 0.5
# %% [markdown] en
# Sometimes attention and effect agree, sometimes not at all. So one cannot rely on it.
#
# ## A different attention, the same answer
#
# If attention explained the decision, other attention should mean another decision. With `r5.0.0-u`, row 0 (`[CLS]`) of head 0
# in layer 5 attends to all tokens equally. Let us do that with every head of the last layer.
#
# **Predict.** How many of the six labels change?
# %% [markdown] ko
# 어텐션과 효과는 일치할 때도 있고 전혀 아닐 때도 있어요. 그러니 믿고 쓸 수는 없어요.
#
# ## 어텐션은 다른데 답은 같아요
#
# 어텐션이 판단을 설명한다면 어텐션이 달라질 때 판단도 달라져야 해요. `r3.0.0-u`라고 쓰면 3번 레이어 0번 헤드의 0번 행(`[CLS]`)이 모든 토큰을
# 똑같이 봐요. 마지막 레이어의 모든 헤드에 이렇게 해 봐요.
#
# **예상해 보세요.** 레이블 여섯 개 가운데 몇 개가 바뀔까요?
# %% predict
last = classifier.config.num_layers - 1
uniform = ",".join(f"r{last}.{n}.0-u" for n in range(classifier.config.num_heads))

rows, changed = [], 0
for each in reviews:
    result = classifier.intervene("classification", each, changes=uniform)
    first = result.outcomes[0]
    changed += result.top != 0
    rows.append((each, first.label, f"{first.before:.1%}", f"{first.after:.1%}"))
show_table(pick(en=("review", "label", "before", "uniform"), ko=("영화평", "레이블", "전", "고르게 볼 때")), rows)
assert changed == 0
# %% [markdown] en
# None. Jain and Wallace found this in other models and wrote [Attention is not Explanation](https://arxiv.org/abs/1902.10186).
# Wiegreffe and Pinter answered with [Attention is not not Explanation](https://arxiv.org/abs/1908.04626): a possible explanation
# need not be the only one. Here one reason is plain: below the last layer, the vectors of the words were mixed already. An
# attention map shows where information *could* come from; what is used, only a change shows.
#
# ## Exercise 1
#
# Find the head of `session` that looks at the **next** token most clearly in `sentence`, as a mean over all tokens but the last.
# Answer with `(layer, head)`.
# %% [markdown] ko
# 하나도 바뀌지 않아요. Jain과 Wallace는 다른 모델에서 이를 발견하고 [Attention is not Explanation](https://arxiv.org/abs/1902.10186)이라는
# 논문을 썼어요. Wiegreffe와 Pinter는 [Attention is not not Explanation](https://arxiv.org/abs/1908.04626)으로 답했어요. 가능한 설명이 꼭
# 하나일 필요는 없다는 거예요. 여기서는 까닭 하나가 분명해요. 마지막 레이어에 오기 전에 단어의 벡터들이 이미 섞였어요. 어텐션 맵은 정보가
# 어디서 올 *수 있는지*를 보여 줘요. 무엇을 쓰는지는 바꾸어 보아야만 알 수 있어요.
#
# ## 연습 1
#
# `sentence`에서 바로 **뒤** 토큰을 가장 뚜렷하게 보는 `session`의 헤드를 찾으세요. 마지막 토큰을 뺀 모든 토큰의 평균으로 비교하고,
# `(레이어, 헤드)`로 답하세요.
# %% exercise 1
next_head = ...  # (layer, head)
# %% check 1
next_LN = np.array([[np.mean([probs[t, t + 1] for t in range(len(probs) - 1)]) for probs in row] for row in attention.probs_LNTT])
check(
    1, next_head,
    (lambda a: len(a) == 2 and a[0] < layers and a[1] < heads, pick(
        en="The answer must be an existing (layer, head).", ko="답은 있는 (레이어, 헤드)여야 해요.")),
    (lambda a: not (tuple(a) == np.unravel_index(previous_LN.argmax(), previous_LN.shape)), pick(
        en="This head looks at the previous token. In `np.diagonal`, the sign of the offset chooses the side.",
        ko="이 헤드는 바로 앞 토큰을 봐요. `np.diagonal`에서는 offset의 부호로 방향을 정해요.")),
    (lambda a: next_LN[tuple(a)] == next_LN.max(), pick(
        en="Another head does it more clearly.", ko="더 뚜렷한 헤드가 있어요.")),
)
# %% solution 1
mean_LN = np.diagonal(attention.probs_LNTT, offset=1, axis1=2, axis2=3).mean(axis=-1)
next_head = tuple(int(n) for n in np.unravel_index(mean_LN.argmax(), mean_LN.shape))
print(next_head)
# %% [markdown] en
# ## Exercise 2
#
# Does the harm add up? Switch off the **three** most needed heads of `sentence` together (those with the lowest effects), and
# give the probability of the original prediction afterwards. `ablate` takes a list of head numbers, layer · N + head.
# %% [markdown] ko
# ## 연습 2
#
# 손해는 더해질까요? `sentence`에 가장 필요한 헤드 **세 개**(효과가 가장 낮은 것)를 함께 끄고, 원래 예측의 확률이 얼마가 되는지 구하세요.
# `ablate`는 헤드 번호(레이어 · N + 헤드)의 리스트를 받아요.
# %% exercise 2
p_without_three = ...
# %% check 2
check(
    2, p_without_three,
    (lambda a: 0 <= float(a) <= 1, pick(
        en="A probability is needed; `ablate` returns a label and a probability.", ko="확률이 필요해요. `ablate`는 레이블과 확률을 돌려줘요.")),
    (lambda a: not np.isclose(float(a), ablate(np.abs(effects.effects_LN).ravel().argsort()[:3])[1], rtol=0.01), pick(
        en="You switched off the three heads with the smallest effects. Needed heads have the most negative ones.",
        ko="효과가 가장 작은 세 헤드를 껐어요. 필요한 헤드는 효과가 가장 큰 음수예요.")),
    (lambda a: np.isclose(float(a), ablate(effects.effects_LN.ravel().argsort()[:3])[1], rtol=0.02, atol=1e-4), pick(
        en="Not these three heads. Sort `effects.effects_LN.ravel()`.", ko="이 세 헤드가 아니에요. `effects.effects_LN.ravel()`을 정렬해 보세요.")),
)
# %% solution 2
three = effects.effects_LN.ravel().argsort()[:3]
label_three, p_without_three = ablate(three)
print(label_three, f"{p_without_three:.2%}", [f"{n // heads}.{n % heads}: {effects.effects_LN.ravel()[n]:+.1f}" for n in three])
# %% [markdown] en
# ## Exercise 3
#
# Write a review (at least five words) for which attention and effect put **different** words first. Use `measure_words`.
# %% [markdown] ko
# ## 연습 3
#
# 어텐션과 효과로 볼 때 첫째 단어가 **다른** 영화평을 쓰세요. 네 어절 이상이어야 해요. `measure_words`를 쓰세요.
# %% exercise 3
misleading_review = ...
# %% check 3
check(
    3, misleading_review,
    (lambda a: isinstance(a, str) and len(a.split()) >= pick(en=5, ko=4), pick(
        en="The answer must be a review of at least five words.", ko="답은 네 어절 이상인 영화평이어야 해요.")),
    (lambda a: measure_words(a)[1].argmax() != measure_words(a)[2].argmax(), pick(
        en="Both put the same word first. Mixed reviews with *but* are a good start.",
        ko="첫째 단어가 같아요. '-지만'이 들어간, 좋은 점과 나쁜 점을 함께 말하는 영화평으로 시작해 보세요.")),
)
# %% solution 3
misleading_review = pick(en="I expected nothing and was moved to tears by the ending.", ko="두 형제의 따뜻하고 영리한 이야기예요.")
words, shares, word_effects = measure_words(misleading_review)
print(words[shares.argmax()], words[word_effects.argmax()])
