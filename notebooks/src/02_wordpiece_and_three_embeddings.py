# %% [markdown] en
# # 2. WordPiece and the three embeddings
#
# BERT's vocabulary has a fixed size, but a language has no last word. WordPiece solves this with pieces: a word that is not in
# the vocabulary is split into pieces that are. The rule takes three lines:
#
# 1. Take the longest piece of the vocabulary with which the word begins.
# 2. Go on behind it. From now on, pieces must begin with `##`, which means "continues a word".
# 3. If at some place no piece fits, the whole word becomes `[UNK]`.
#
# You write this search yourself, and then follow the pieces into the model: each becomes the sum of three vectors.
# %% [markdown] ko
# # 2. WordPiece와 세 가지 임베딩
#
# BERT의 어휘 집합은 크기가 정해져 있지만 언어의 단어는 끝이 없어요. WordPiece는 조각으로 이 문제를 풀어요. 어휘 집합에 없는 단어는
# 어휘 집합에 있는 조각으로 나눠요. 규칙은 세 줄이면 돼요.
#
# 1. 단어의 첫머리와 맞는 조각 가운데 가장 긴 것을 어휘 집합에서 골라요.
# 2. 그 뒤에서 이어 가요. 이제부터 조각은 `##`으로 시작해야 해요. "단어가 이어진다"는 뜻이에요.
# 3. 맞는 조각이 없는 자리가 나오면 단어 전체가 `[UNK]`가 돼요.
#
# 이 탐색을 직접 만들어 보고, 조각이 모델로 들어가는 과정을 따라가요. 조각마다 벡터 세 개의 합이 돼요.
# %%
import numpy as np

import bertlab
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.views import figures
from bertlab.abilities.wordpiece import position_figures as positions

session = bertlab.load(pick(en="strongest", ko="korean"))
vocabulary = session.tokenizer.tokens(list(range(session.tokenizer.vocab_size)))
token_ids = {token: id for id, token in enumerate(vocabulary)}


def split(word):
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):  # the longest first
            piece = ("##" if start else "") + word[start:end]
            if piece in token_ids:
                break
        else:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


print(f"{len(vocabulary):,}", vocabulary[1000:1008])
print(split(pick(en="teapot", ko="보리차를")))
# %% [markdown] en
# **Predict.** How are these words split? Common words are in the vocabulary as they are. Write down your guess for
# *unbelievably*, then run the cell. Are the pieces prefixes and suffixes, as in a grammar?
# %% [markdown] ko
# **예상해 보세요.** 이 단어들은 어떻게 나뉠까요? 자주 쓰는 단어는 통째로 어휘 집합에 있어요. *먹었다*, *먹었고*, *먹으면*이 어떻게
# 나뉠지 적어 보고 셀을 실행하세요. 조각이 문법에서 말하는 어간, 어미와 같을까요?
# %% predict
words = pick(
    en=["tea", "teapot", "unbelievably", "tokenization", "snowboarding", "greenwich", "photosynthesis"],
    ko=["학교", "학교에서", "먹었다", "먹었고", "먹으면", "등대지기가", "따뜻한", "보리차를"],
)
show_table(pick(en=("word", "pieces"), ko=("단어", "조각")), [(word, " ".join(split(word))) for word in words])

for word in words:
    assert split(word) == [token.token for token in session.encode(word)][1:-1]  # without [CLS] and [SEP]
# %% [markdown] en
# The pieces are not grammar. They come from statistics: while the vocabulary was built, two neighbouring pieces that often
# occurred together were merged into one, again and again, until the vocabulary was full. And the search is greedy: it takes the
# longest piece at each place and never goes back. Here are all pieces that it tries in one word (see also the app's page
# [WordPiece](app:wordpiece?words=unbelievably)).
# %% [markdown] ko
# 조각은 문법이 아니라 통계에서 나와요. 어휘 집합을 만들 때, 함께 자주 나오는 이웃한 조각 둘을 하나로 합치는 일을 어휘 집합이 찰 때까지
# 되풀이했어요. 그래서 어간이나 어미와 맞을 때도 있고 아닐 때도 있어요. 탐색은 탐욕적이에요. 자리마다 가장 긴 조각을 고르고
# 되돌아가지 않아요. 다음은 한 단어에서 시도한 조각 전부예요(앱의 [WordPiece](app:wordpiece?words=등대지기가) 화면에서도 볼 수
# 있어요).
# %%
(search,) = session.search_tokens(pick(en="unbelievably", ko="등대지기가"))
show_table(
    pick(en=("tried, not in the vocabulary", "found"), ko=("시도했지만 어휘 집합에 없음", "찾음")),
    [(" ".join(step.rejected) or "-", step.token) for step in search.steps],
)
assert list(search.tokens) == split(search.word)
# %% [markdown] en
# ## Three tables
#
# Each token becomes a vector of H numbers. Three tables are looked up and added:
#
# - the **token embedding**: which token it is, one row for each token of the vocabulary
# - the **position embedding**: where it stands, one row for each position from 0 to 511
# - the **segment embedding**: whether it belongs to sentence A or B, two rows
#
# Without the second, BERT could not tell "dog bites man" from "man bites dog": attention alone treats its input as a set.
# The app's page [Input](app:input?a=The teapot is hot.&b=Wait.) draws the three for any sentence.
# %% [markdown] ko
# ## 표 세 개
#
# 토큰은 H개의 수로 된 벡터가 돼요. 표 세 개에서 한 행씩 찾아 더해요.
#
# - **토큰 임베딩**: 어떤 토큰인지. 어휘 집합의 토큰마다 한 행이 있어요.
# - **위치 임베딩**: 몇 번째인지. 0부터 511까지 위치마다 한 행이 있어요.
# - **세그먼트 임베딩**: 문장 A와 B 중 어디인지. 두 행이 있어요.
#
# 위치 임베딩이 없으면 BERT는 "개가 사람을 물었다"와 "사람을 개가 물었다"의 순서를 구별하지 못해요. 어텐션만으로는 입력이 순서 없는 집합과
# 같아요. 앱의 [입력](app:input?a=차가 뜨겁다.&b=기다려라.) 화면에서는 어떤 문장이든 이 세 임베딩을 볼 수 있어요.
# %%
tables = session.model.embeddings
token_VH, position_PH, segment_2H = (
    table.weight.detach().numpy() for table in (tables.token, tables.position, tables.token_type)
)
sentence_a, sentence_b = pick(
    en=("The teapot is hot.", "Wait."), ko=("차가 뜨겁다.", "기다려라.")
)
tokens = session.encode(sentence_a, sentence_b)

sum_TH = np.stack([token_VH[t.id] + position_PH[t.position] + segment_2H[t.segment] for t in tokens])

embeddings = session.embeddings(sentence_a, sentence_b)
library_TH = embeddings.token_TH + embeddings.position_TH + embeddings.token_type_TH
assert np.allclose(sum_TH, library_TH, atol=1e-5)
assert len(position_PH) == 512 and len(segment_2H) == 2

print("V, H =", token_VH.shape, "  P, H =", position_PH.shape, "  2, H =", segment_2H.shape)
show(
    figures.embedding_strips(embeddings, lang=language()),
    alt=pick(
        en="Four heat maps with a row for each token: token, position and segment embeddings, and their normalised sum.",
        ko="토큰마다 한 행인 히트맵 네 개: 토큰, 위치, 세그먼트 임베딩과 LayerNorm을 적용한 합이에요.",
    ),
)
# %% [markdown] en
# ## What did the model learn about positions?
#
# The original Transformer computes the position vectors from sines and cosines. BERT starts with random ones and learns them.
#
# **Predict.** The model was never given the information that position 7 is next to position 8. Are the learned vectors of neighbouring positions
# more similar than those of distant ones?
# %% [markdown] ko
# ## 모델은 위치에 대해 무엇을 배웠을까요?
#
# 원래 트랜스포머는 위치 벡터를 사인과 코사인으로 계산해요. BERT는 무작위 벡터에서 시작해 학습해요.
#
# **예상해 보세요.** 7번 위치 옆에 8번 위치가 있다고 모델에 알려 준 사람은 없어요. 학습한 벡터를 보면 이웃한 위치가 먼 위치보다 더
# 비슷할까요?
# %% predict
similarity = session.position_similarity()

unit_PH = position_PH / np.linalg.norm(position_PH, axis=1, keepdims=True)
neighbours = (unit_PH[:-1] * unit_PH[1:]).sum(axis=1).mean()
distant = (unit_PH[:-100] * unit_PH[100:]).sum(axis=1).mean()
assert np.isclose(neighbours, similarity.learned_P[1], atol=1e-3)
assert neighbours > 0.6 and distant < 0.2
print(f"cos: {neighbours:.2f} (1), {distant:.2f} (100)")

show(
    positions.similarity_by_distance(similarity, lang=language()),
    alt=pick(
        en="Two curves of cosine similarity over distance. The learned one begins at 1, falls quickly, and then goes up and down.",
        ko="거리에 따른 코사인 유사도 곡선 두 개. 학습한 쪽은 1에서 시작해 빠르게 낮아지고, 그 뒤에는 오르내려요.",
    ),
)
# %% [markdown] en
# ## What did the model learn about tokens?
#
# It found out: neighbouring positions have similar vectors, positions 100 apart hardly (the printed numbers are the mean cosines
# at these two distances). The curve is not as smooth as the computed one; training had no reason to make it smooth. Now the
# tokens. The nearest tokens of a token, by cosine, are words that can stand in the same places.
#
# **Predict** the nearest tokens of *tea* and *seven* before you run the cell.
# %% [markdown] ko
# ## 모델은 토큰에 대해 무엇을 배웠을까요?
#
# 정말 그래요. 이웃한 위치의 벡터는 비슷하고, 100만큼 떨어진 위치는 거의 비슷하지 않아요(출력한 수는 두 거리에서 코사인의 평균이에요).
# 이번에는 토큰이에요. 코사인으로 가장
# 가까운 토큰은 같은 자리에 올 수 있는 단어예요.
#
# *어머니*와 *1월*에 가장 가까운 토큰이 무엇일지 **예상해 보고** 셀을 실행하세요.
# %% predict
unit_VH = token_VH / np.linalg.norm(token_VH, axis=1, keepdims=True)


def find_nearest(vector_H, count=5, without=()):
    cosines_V = unit_VH @ (vector_H / np.linalg.norm(vector_H))
    best = (id for id in cosines_V.argsort()[::-1] if vocabulary[id] not in without)
    return [(vocabulary[id], cosines_V[id]) for id, _ in zip(best, range(count))]


show_table(
    pick(en=("token", "nearest tokens"), ko=("토큰", "가장 가까운 토큰")),
    [
        (word, ", ".join(f"{near} {cosine:.2f}" for near, cosine in find_nearest(unit_VH[token_ids[word]], without=[word])))
        for word in pick(en=["tea", "seven", "doctor", "france"], ko=["어머니", "1월", "프랑스", "학교"])
    ],
)
first, second = pick(en=("tea", "coffee"), ko=("어머니", "아버지"))
assert find_nearest(unit_VH[token_ids[first]], 1, [first])[0][0] == second
# %% [markdown] en
# ## Word arithmetic
#
# If directions mean something, vectors can be added. *king* minus *man* plus *woman* should lie near *queen*. It is a famous
# picture, usually shown with a trick: the three input words are left out of the answers. Look at both columns.
# %% [markdown] ko
# ## 단어로 하는 계산
#
# 방향에 뜻이 있다면 벡터를 더하고 뺄 수 있어요. *어머니*에서 *아버지*를 빼고 *아들*을 더하면 *딸* 근처에 가야 해요. 유명한 예이지만
# 보통은 요령을 하나 써요. 입력한 세 단어를 답에서 빼는 거예요. 두 열을 모두 보세요.
# %%
def compute_analogy(a, b, c):
    return unit_VH[token_ids[a]] - unit_VH[token_ids[b]] + unit_VH[token_ids[c]]


analogies = pick(
    en=[("king", "man", "woman"), ("tokyo", "japan", "china"), ("paris", "france", "italy"), ("bigger", "big", "small")],
    ko=[("어머니", "아버지", "아들"), ("일본", "도쿄", "서울"), ("미국의", "미국", "일본"), ("그녀의", "그녀는", "그는")],
)
rows = []
for a, b, c in analogies:
    nearest, (best,) = find_nearest(compute_analogy(a, b, c), 1), find_nearest(compute_analogy(a, b, c), 1, [a, b, c])
    rows.append((f"{a} − {b} + {c}", nearest[0][0], best[0]))
show_table(
    pick(en=("", "nearest token", "nearest without the inputs"), ko=("", "가장 가까운 토큰", "입력 단어를 빼고 가장 가까운 토큰")),
    rows,
)
assert [row[2] for row in rows] == pick(
    en=["queen", "beijing", "rome", "smaller"], ko=["딸", "한국", "일본의", "그의"]
)
assert sum(nearest in (a, c) for (a, _, c), (_, nearest, _) in zip(analogies, rows)) >= 3  # mostly an input word itself
# %% [markdown] en
# The nearest token is mostly one of the inputs; the trick makes the picture nicer than it is.
#
# ## Exercise 1
#
# Find a real English word (one word, without spaces) that is split into five or more pieces.
# %% [markdown] ko
# 가장 가까운 토큰은 대개 입력한 단어예요. 요령 덕분에 결과가 실제보다 좋아 보인 거예요.
#
# ## 연습 1
#
# 조각 다섯 개 이상으로 나뉘는 한국어 어절을 하나 찾으세요. 띄어쓰기가 없어야 해요.
# %% exercise 1
word = ...
# %% check 1
check(
    1, word,
    (lambda a: isinstance(a, str) and a.strip() and not a.split()[1:], pick(
        en="The answer must be one word in quotation marks.", ko="답은 따옴표로 묶은 한 어절이어야 해요.")),
    (lambda a: "[UNK]" not in split(a.strip().lower()), pick(
        en="This word becomes [UNK]: at some place no piece fits.", ko="이 어절은 [UNK]가 돼요. 맞는 조각이 없는 자리가 있어요.")),
    (lambda a: len(split(a.strip().lower())) >= 5, pick(
        en="It has fewer than five pieces. Rare words help: technical terms, names of plants, long compounds.",
        ko="조각이 다섯 개보다 적어요. 드문 말을 써 보세요. 전문 용어, 식물 이름, 어미가 긴 용언이 좋아요.")),
)
# %% solution 1
word = pick(en="otorhinolaryngologist", ko="미끄러지더라도")
print(split(word))
# %% [markdown] en
# ## Exercise 2
#
# What share of the model's parameters is in the three tables? Count the numbers in `token_VH`, `position_PH` and `segment_2H`,
# and divide by the number of all parameters: `sum(p.numel() for p in session.model.parameters())`. Guess first!
# %% [markdown] ko
# ## 연습 2
#
# 모델의 파라미터 가운데 세 표가 차지하는 비율은 얼마일까요? `token_VH`, `position_PH`, `segment_2H`에 든 수를 세어 전체 파라미터 수
# `sum(p.numel() for p in session.model.parameters())`로 나누세요. 먼저 예상해 보세요!
# %% exercise 2
share = ...
# %% check 2
all_parameters = sum(p.numel() for p in session.model.parameters())
in_tables = session.model.embeddings.token.weight.numel() + position_PH.size + segment_2H.size
check(
    2, share,
    (lambda a: 0 < float(a) < 1, pick(en="A share is between 0 and 1.", ko="비율은 0과 1 사이예요.")),
    (lambda a: not np.isclose(float(a), token_VH.shape[0] / all_parameters, rtol=0.05), pick(
        en="Each row of a table has H numbers: use `.size`, not `len`.", ko="표의 한 행에는 수가 H개 있어요. `len`이 아니라 `.size`를 쓰세요.")),
    (lambda a: not np.isclose(float(a), token_VH.size / all_parameters, rtol=1e-4), pick(
        en="You counted only one table.", ko="표를 하나만 셌어요.")),
    (lambda a: np.isclose(float(a), in_tables / all_parameters, rtol=1e-3), pick(
        en="Not the right share. Numerator: three tables. Denominator: all parameters.",
        ko="비율이 맞지 않아요. 분자는 표 세 개, 분모는 전체 파라미터예요.")),
)
# %% solution 2
share = (token_VH.size + position_PH.size + segment_2H.size) / sum(p.numel() for p in session.model.parameters())
print(f"{share:.1%}")
# %% [markdown] en
# ## Exercise 3
#
# Find an analogy of your own that works: four tokens *a, b, c, d* of the vocabulary such that the nearest token of a − b + c,
# without a, b and c, is d. Use none of the analogies above.
# %% [markdown] ko
# ## 연습 3
#
# 성립하는 유추를 직접 찾으세요. 어휘 집합에 있는 토큰 *a, b, c, d*로, a − b + c에 가장 가까운 토큰이 a, b, c를 빼면 d여야 해요. 위에
# 나온 예는 쓰지 마세요.
# %% exercise 3
analogy = ...  # ("a", "b", "c", "d")
# %% check 3
check(
    3, analogy,
    (lambda a: len(a) == 4 and len(set(a)) == 4, pick(
        en="The answer must be four different tokens.", ko="답은 서로 다른 토큰 네 개여야 해요.")),
    (lambda a: all(token in token_ids for token in a), pick(
        en="One of the words is not in the vocabulary as a single token. `word in token_ids` tells you which.",
        ko="토큰 하나로 어휘 집합에 있지 않은 단어가 있어요. `단어 in token_ids`로 확인해 보세요.")),
    (lambda a: tuple(a[:3]) not in analogies, pick(en="This one is from the lesson.", ko="수업에 나온 예예요.")),
    (lambda a: find_nearest(compute_analogy(*a[:3]), 1, a[:3])[0][0] == a[3], pick(
        en="Another token is nearer. `find_nearest(compute_analogy(a, b, c), 5, [a, b, c])` shows which.",
        ko="더 가까운 토큰이 있어요. `find_nearest(compute_analogy(a, b, c), 5, [a, b, c])`로 볼 수 있어요.")),
)
# %% solution 3
analogy = pick(en=("uncle", "man", "woman", "aunt"), ko=("일본의", "일본", "미국", "미국의"))
