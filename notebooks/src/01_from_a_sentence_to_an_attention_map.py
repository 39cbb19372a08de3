# %% [markdown] en
# # 1. From a sentence to an attention map
#
# BERT reads a sentence and, layer after layer, lets every token collect information from every other token. In this lesson you
# compute one complete layer by hand, from the letters of a sentence to the layer's output. Whenever you have computed something,
# an `assert` compares it with the library: if the numbers differed, the cell would stop with an error.
#
# The names of arrays end in their shape, one letter for each dimension: **T** tokens, **H** hidden size, **D** head size,
# **N** heads, **L** layers. `probs_TT` has one row and one column for every token.
#
# ## Text becomes tokens
#
# The model has a fixed vocabulary. A word that is not in it is split into several tokens; a token that continues a word begins
# with `##`. Two special tokens frame the sentence: `[CLS]` and `[SEP]`. The model sees only the ids.
# %% [markdown] ko
# # 1. 문장에서 어텐션 맵까지
#
# BERT는 문장을 읽으면서 레이어마다 모든 토큰이 다른 모든 토큰의 정보를 모으게 해요. 이 수업에서는 문장의 글자부터 레이어의
# 출력까지, 레이어 하나를 처음부터 끝까지 직접 계산해요. 계산할 때마다 `assert`가 라이브러리의 값과 비교해요. 값이 다르면 셀이
# 오류를 내고 멈춰요.
#
# 배열 이름은 모양으로 끝나요. 차원마다 글자가 하나예요. **T**는 토큰, **H**는 은닉 차원, **D**는 헤드 차원, **N**은 헤드, **L**은
# 레이어예요. `probs_TT`에는 토큰마다 행이 하나, 열이 하나 있어요.
#
# ## 텍스트를 토큰으로 나눠요
#
# 모델이 아는 토큰은 어휘 집합에 정해져 있어요. 어휘 집합에 없는 단어는 토큰 여러 개로 나누고, 단어 중간에서 이어지는 토큰은
# `##`으로 시작해요. 특수 토큰 `[CLS]`와 `[SEP]`가 문장의 앞뒤에 붙어요. 모델에는 ID만 들어가요.
# %%
import numpy as np

import bertlab
from bertlab.lessons import check, language, pick, show, show_table

session = bertlab.load(pick(en="strongest", ko="korean"))
sentence = pick(
    en="The boy put the glass on the table because it was heavy.",
    ko="소년은 무거운 유리잔을 식탁 위에 놓았다.",
)

tokens = session.encode(sentence)
show_table(
    pick(en=("position", "token", "id", "text"), ko=("위치", "토큰", "ID", "글자")),
    [(token.position, token.token, token.id, sentence[token.start:token.end]) for token in tokens],
)
# %% [markdown] en
# ## Ids become vectors
#
# Each token is looked up in three tables: which token it is, its position, and whether it belongs to sentence A or B. The three
# vectors are added, and LayerNorm gives the sum mean 0 and variance 1 before it applies a learned scale and shift. By hand:
# %% [markdown] ko
# ## ID를 벡터로 바꿔요
#
# 토큰마다 표 세 개에서 벡터를 찾아요. 어떤 토큰인지, 몇 번째 위치인지, 문장 A와 B 중 어디에 속하는지예요. 세 벡터를 더하면
# LayerNorm이 평균을 0, 분산을 1로 맞춘 다음, 학습한 값을 곱하고 더해요. 직접 계산하면 이래요.
# %%
def layer_norm(vectors_TH, norm):
    centred_TH = vectors_TH - vectors_TH.mean(-1, keepdims=True)
    spread_T1 = np.sqrt(vectors_TH.var(-1, keepdims=True) + norm.eps)
    return centred_TH / spread_T1 * norm.weight.detach().numpy() + norm.bias.detach().numpy()


embeddings = session.embeddings(sentence)
added_TH = embeddings.token_TH + embeddings.position_TH + embeddings.token_type_TH
hidden_TH = layer_norm(added_TH, session.model.embeddings.norm)

assert np.allclose(hidden_TH, embeddings.sum_TH, atol=1e-4)
print("T, H =", hidden_TH.shape)
# %% [markdown] en
# ## Query, key, score
#
# In each head, every token's vector is turned into shorter ones. The *query* says what a token looks for, the *key* what it
# offers. Both are matrix products. The score of a pair of tokens is the product of the one's query and the other's key, divided
# by the root of D so that it does not grow with the size of the vectors. We look at one head of layer 0.
# %% [markdown] ko
# ## 쿼리, 키, 점수
#
# 헤드마다 토큰의 벡터를 더 짧은 벡터로 바꿔요. *쿼리*는 토큰이 무엇을 찾는지, *키*는 무엇을 내놓는지를 나타내요. 둘 다 행렬
# 곱이에요. 두 토큰의 점수는 한쪽의 쿼리와 다른 쪽의 키를 곱한 값이에요. 벡터가 길다고 점수까지 커지지 않도록 D의 제곱근으로
# 나눠요. 여기서는 0번 레이어의 헤드 하나를 봐요.
# %%
layer, head = 0, pick(en=2, ko=0)
head_size, hidden_size = session.config.head_size, session.config.hidden_size
attention_weights = session.model.encoder.layers[layer].attention

# one matrix contains the queries, keys and values of all heads: first all queries, then all keys, then all values
qkv_T3H = hidden_TH @ attention_weights.qkv.weight.detach().numpy().T + attention_weights.qkv.bias.detach().numpy()
queries_TH, keys_TH, values_TH = np.split(qkv_T3H, 3, axis=1)
of_head = slice(head * head_size, (head + 1) * head_size)
query_TD, key_TD, value_TD = queries_TH[:, of_head], keys_TH[:, of_head], values_TH[:, of_head]

scores_TT = query_TD @ key_TD.T / np.sqrt(head_size)

neuron = session.neuron(sentence, layer=layer, head=head)
assert np.allclose(query_TD, neuron.query_TD, atol=1e-3) and np.allclose(key_TD, neuron.key_TD, atol=1e-3)
assert np.allclose(scores_TT, neuron.scores_TT, atol=1e-3)
print("T, D =", query_TD.shape, "   T, T =", scores_TT.shape)
# %% [markdown] en
# ## Scores become attention
#
# Softmax turns each row of scores into positive weights with sum 1: how a token divides its attention. (Subtracting the row's
# maximum first does not change the result but keeps the exponentials small.)
#
# **Predict.** The next cell shows, for every token, which token gets most of its attention in this head. What pattern do you
# expect: the token itself, a word of similar meaning, a neighbour, `[SEP]`? Decide, then run the cell.
# %% [markdown] ko
# ## 점수를 어텐션으로 바꿔요
#
# 소프트맥스는 점수의 행마다 합이 1인 양수로 바꿔요. 토큰이 어텐션을 어떻게 나누는지예요. (행의 최댓값을 먼저 빼도 결과는 같고,
# 지수 값이 너무 커지지 않아요.)
#
# **예상해 보세요.** 다음 셀은 이 헤드에서 토큰마다 어떤 토큰에 어텐션을 가장 많이 주는지 보여 줘요. 자기 자신, 뜻이 비슷한 단어,
# 이웃한 토큰, `[SEP]` 중 무엇일까요? 먼저 정하고 셀을 실행해 보세요.
# %% predict
exponentials_TT = np.exp(scores_TT - scores_TT.max(axis=1, keepdims=True))
probs_TT = exponentials_TT / exponentials_TT.sum(axis=1, keepdims=True)

assert np.allclose(probs_TT.sum(axis=1), 1)
assert np.allclose(probs_TT, neuron.probs_TT, atol=1e-4)

best_T = probs_TT.argmax(axis=1)
show_table(
    pick(en=("token", "attends most to", "share"), ko=("토큰", "가장 많이 보는 토큰", "비율")),
    [(token.token, tokens[best].token, f"{probs_TT[token.position, best]:.1%}") for token, best in zip(tokens, best_T)],
)
# most tokens attend to the one before them
is_previous_T = best_T[1:] == np.arange(len(tokens) - 1)
assert is_previous_T.mean() > 0.8
# %% [markdown] en
# ## The weighted sum of the values
#
# Attention says how much; the *values* say what. Each token has a third vector, its value, and the output of the head at a
# position is the sum of all values, each times its weight. The head above looks almost only at the previous token, so its
# output is nearly a copy of the previous token's value: the cosine of the two is close to 1.
# %% [markdown] ko
# ## 밸류의 가중합
#
# 어텐션이 "얼마나"라면 *밸류*는 "무엇을"이에요. 토큰마다 세 번째 벡터인 밸류가 있고, 어떤 위치에서 헤드의 출력은 모든 밸류에
# 가중치를 곱해 더한 값이에요. 위의 헤드는 거의 바로 앞 토큰만 보기 때문에 출력도 앞 토큰의 밸류와 거의 같아요. 두 벡터의 코사인이
# 1에 가까워요.
# %%
place = pick(en=8, ko=12)
weighted_TD = probs_TT[place][:, None] * value_TD
head_output_D = weighted_TD.sum(axis=0)

block = session.block(sentence, layer=layer, head=head, position=place)
assert np.allclose(value_TD, block.value_TD, atol=1e-3)
assert np.allclose(head_output_D, block.head_output_D, atol=1e-3)

previous_D = value_TD[place - 1]
cosine = head_output_D @ previous_D / np.linalg.norm(head_output_D) / np.linalg.norm(previous_D)
assert cosine > 0.95
print(f"{tokens[place].token} ← {tokens[place - 1].token}   cos = {cosine:.3f}")
# %% [markdown] en
# ## All heads together
#
# The other heads of the layer do the same with their own queries, keys and values. Their outputs are put side by side, which
# gives H numbers again (H = N · D). The output projection mixes them, the result is **added** to what the token was before (the
# residual connection), and LayerNorm follows. Attention does not replace the vector of a token; it adds to it.
# %% [markdown] ko
# ## 모든 헤드를 합쳐요
#
# 같은 레이어의 다른 헤드도 자기 쿼리, 키, 밸류로 똑같이 계산해요. 그 출력을 나란히 이어 붙이면 다시 H개의 수가 돼요(H = N · D).
# 출력 투영이 이것을 섞고, 그 결과를 토큰의 원래 벡터에 **더한** 다음(잔차 연결) LayerNorm을 적용해요. 어텐션은 토큰의 벡터를
# 바꿔치기하지 않고 거기에 더해요.
# %%
outputs = []
for n in range(session.config.num_heads):
    part = slice(n * head_size, (n + 1) * head_size)
    scores_n = queries_TH[:, part] @ keys_TH[:, part].T / np.sqrt(head_size)
    weights_n = np.exp(scores_n - scores_n.max(axis=1, keepdims=True))
    outputs.append(weights_n / weights_n.sum(axis=1, keepdims=True) @ values_TH[:, part])
heads_TH = np.concatenate(outputs, axis=1)

attention_TH = heads_TH @ attention_weights.out.weight.detach().numpy().T + attention_weights.out.bias.detach().numpy()
attended_TH = layer_norm(hidden_TH + attention_TH, session.model.encoder.layers[layer].attention_norm)

assert np.allclose(heads_TH[place], block.heads_H, atol=1e-3)
assert np.allclose(attended_TH[place], block.attended_H, atol=1e-3)
print("N, D =", (session.config.num_heads, head_size), "   T, H =", heads_TH.shape)
# %% [markdown] en
# ## The feed-forward network
#
# The second half of the layer works on each token alone: a matrix that makes the vector four times as long, the curve GELU,
# which lets large values pass and suppresses negative ones, and a matrix back to H numbers. Again the result is added and
# normalised. That is the whole layer; the next one reads its output.
# %% [markdown] ko
# ## 피드포워드
#
# 레이어의 뒤쪽 절반은 토큰마다 따로 계산해요. 행렬로 벡터를 네 배로 늘리고, 큰 값은 통과시키고 음수는 누르는 함수 GELU를
# 적용하고, 다시 행렬로 H개의 수로 줄여요. 이 결과도 더하고 LayerNorm을 적용해요. 이것으로 레이어 하나가 끝나요. 다음 레이어는 이
# 출력을 읽어요.
# %%
from math import erf


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


feed_forward = session.model.encoder.layers[layer].feed_forward
up, down = feed_forward.up, feed_forward.down
neurons_TI = gelu(attended_TH @ up.weight.detach().numpy().T + up.bias.detach().numpy())
feed_forward_TH = neurons_TI @ down.weight.detach().numpy().T + down.bias.detach().numpy()
output_TH = layer_norm(attended_TH + feed_forward_TH, session.model.encoder.layers[layer].feed_forward_norm)

assert neurons_TI.shape[1] == 4 * hidden_size
assert np.allclose(output_TH[place], block.output_H, atol=2e-3)
print("T, 4H =", neurons_TI.shape, "   T, H =", output_TH.shape)
# %% [markdown] en
# ## See all heads
#
# `attention` computes every head of every layer. This is the view of the app's page
# [Attention](app:attention?a=The boy put the glass on the table because it was heavy.). Point at a token; click the number of a
# head to switch it off, double-click to see it alone; change the layer with the arrow keys. One warning: that a head attends to a word does
# not prove that a prediction depends on it. Lesson 9 tests that.
# %% [markdown] ko
# ## 모든 헤드를 봐요
#
# `attention`은 모든 레이어의 모든 헤드를 계산해요. 앱의 [어텐션](app:attention?a=소년은 무거운 유리잔을 식탁 위에 놓았다.) 화면과
# 같은 그림이에요. 토큰을 가리켜 보세요. 헤드 번호를 누르면 그 헤드가 꺼지고, 두 번 누르면 그 헤드만 보여요. 화살표 키로 레이어를
# 바꿔요. 한 가지 주의할 점이 있어요. 헤드가 어떤 단어를 본다고 해서 예측이 그 단어에 달려 있다는 증거는 아니에요. 9번 수업에서
# 확인해요.
# %%
from bertlab.views.widget import AttentionWidget

attention = session.attention(sentence)
assert np.allclose(attention.probs_LNTT[layer, head], probs_TT, atol=1e-4)

show(
    AttentionWidget(attention, state={"layer": layer, "heads": [head]}, lang=language()),
    alt=pick(
        en="Lines from every token to the token before it: the attention of the head of this lesson.",
        ko="토큰마다 바로 앞 토큰으로 이어지는 선: 이 수업에서 본 헤드의 어텐션이에요.",
    ),
)
# %% [markdown] en
# ## Exercise 1
#
# Compute the output of the same head at position 3, as one vector of D numbers, from `probs_TT` and `value_TD`.
# %% [markdown] ko
# ## 연습 1
#
# `probs_TT`와 `value_TD`로 같은 헤드의 3번 위치 출력을 구하세요. 수 D개로 된 벡터 하나예요.
# %% exercise 1
output_at_3_D = ...
# %% check 1
check(
    1, output_at_3_D,
    (lambda a: np.shape(a) == (head_size,), pick(
        en=f"The answer must be one vector of {head_size} numbers: sum over the tokens, not over the dimensions.",
        ko=f"답은 수 {head_size}개로 된 벡터 하나여야 해요. 차원이 아니라 토큰에 대해 더하세요.")),
    (lambda a: not np.allclose(a, value_TD[3], atol=1e-5), pick(
        en="That is the value of token 3 itself. The head collects the values of all tokens.",
        ko="그건 3번 토큰의 밸류예요. 헤드는 모든 토큰의 밸류를 모아요.")),
    (lambda a: not np.allclose(a, probs_TT[:, 3] @ value_TD, atol=1e-4), pick(
        en="You used the attention that position 3 receives (a column). Use the attention that it gives.",
        ko="3번 위치가 받는 어텐션(열)을 썼어요. 3번 위치가 주는 어텐션을 쓰세요.")),
    (lambda a: np.allclose(a, session.block(sentence, layer=layer, head=head, position=3).head_output_D, atol=1e-3), pick(
        en="The shape is right, the numbers are not. Which row of `probs_TT` belongs to position 3?",
        ko="모양은 맞지만 값이 달라요. `probs_TT`의 어느 행이 3번 위치의 것일까요?")),
)
# %% solution 1
output_at_3_D = probs_TT[3] @ value_TD
# %% [markdown] en
# ## Exercise 2
#
# Find all heads that look at the previous token. For every head, compute the mean weight that a token gives to the token before
# it (leave out the first token, which has none before it). The answer is an array of shape (L, N), from `attention.probs_LNTT`.
# %% [markdown] ko
# ## 연습 2
#
# 바로 앞 토큰을 보는 헤드를 모두 찾아보세요. 헤드마다, 토큰이 바로 앞 토큰에 주는 가중치의 평균을 구하세요. 앞에 토큰이 없는 첫
# 토큰은 빼요. 답은 `attention.probs_LNTT`에서 구한 (L, N) 모양의 배열이에요.
# %% exercise 2
previous_LN = ...
# %% check 2
check(
    2, previous_LN,
    (lambda a: np.shape(a) == attention.probs_LNTT.shape[:2], pick(
        en="The answer needs one number for each head, in shape (L, N). Which axes do you have to average over?",
        ko="헤드마다 수가 하나씩, (L, N) 모양이어야 해요. 어느 축을 평균 내야 할까요?")),
    (lambda a: not np.allclose(a, np.diagonal(attention.probs_LNTT, axis1=2, axis2=3).mean(-1)), pick(
        en="That is the attention of each token to itself: the main diagonal. The previous token is one column further left.",
        ko="그건 토큰이 자기 자신에게 주는 어텐션, 곧 주대각선이에요. 앞 토큰은 한 열 왼쪽에 있어요.")),
    (lambda a: not np.allclose(a, np.diagonal(attention.probs_LNTT, 1, 2, 3).mean(-1)), pick(
        en="That is the attention to the next token. Rows are the tokens that attend, columns the tokens attended to.",
        ko="그건 다음 토큰에 주는 어텐션이에요. 행은 보는 토큰, 열은 보이는 토큰이에요.")),
    (lambda a: np.allclose(a, [[np.mean([h[t, t - 1] for t in range(1, len(tokens))]) for h in l] for l in attention.probs_LNTT], atol=1e-5), pick(
        en="The shape is right, the numbers are not. Average over T - 1 pairs, not over T.",
        ko="모양은 맞지만 값이 달라요. T개가 아니라 T - 1개의 쌍을 평균 내세요.")),
)
# %% solution 2
previous_LN = np.diagonal(attention.probs_LNTT, offset=-1, axis1=2, axis2=3).mean(axis=-1)
# %% [markdown] en
# ## Exercise 3
#
# What would happen without the division by the root of D? `other` is a head whose attention is less sharp. Compute its attention
# from undivided scores, as an array of shape (T, T), from `other.query_TD` and `other.key_TD`. Then compare the largest weights
# with those of `other.probs_TT`.
# %% [markdown] ko
# ## 연습 3
#
# D의 제곱근으로 나누지 않으면 어떻게 될까요? `other`는 어텐션이 더 고르게 퍼진 헤드예요. `other.query_TD`와 `other.key_TD`로, 나누지
# 않은 점수에서 이 헤드의 어텐션을 (T, T) 모양의 배열로 구하세요. 그리고 가장 큰 가중치를 `other.probs_TT`의 것과 비교해 보세요.
# %% exercise 3
other = session.neuron(sentence, layer=pick(en=0, ko=2), head=pick(en=3, ko=0))

undivided_TT = ...
# %% check 3
def softmax_of_rows(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


check(
    3, undivided_TT,
    (lambda a: np.shape(a) == probs_TT.shape, pick(
        en="The answer must have one row and one column for every token.",
        ko="토큰마다 행이 하나, 열이 하나 있어야 해요.")),
    (lambda a: np.allclose(np.sum(a, axis=1), 1, atol=1e-3), pick(
        en="Each row must sum to 1. Did you apply softmax, and along the right axis?",
        ko="행마다 합이 1이어야 해요. 소프트맥스를 맞는 축으로 적용했나요?")),
    (lambda a: not np.allclose(a, other.probs_TT, atol=1e-3), pick(
        en="These are still the divided scores.",
        ko="아직 나눈 점수를 쓰고 있어요.")),
    (lambda a: np.allclose(a, softmax_of_rows(other.query_TD @ other.key_TD.T), atol=1e-3), pick(
        en="The rows sum to 1, but the scores are not the query times the key of `other`.",
        ko="합은 1이지만 점수가 `other`의 쿼리와 키를 곱한 값이 아니에요.")),
)
# %% solution 3
exponentials_TT = np.exp(other.query_TD @ other.key_TD.T)
undivided_TT = exponentials_TT / exponentials_TT.sum(axis=1, keepdims=True)

# the attention collapses onto few tokens
assert undivided_TT.max(axis=1).mean() > 2 * other.probs_TT.max(axis=1).mean()
print(f"{other.probs_TT.max(axis=1).mean():.1%} -> {undivided_TT.max(axis=1).mean():.1%}")
