# %% [markdown] en
# # 11. The heirs of BERT, and what each of them changed
#
# BERT was published in 2018. Its heirs kept the encoder and changed one or two things:
#
# - **RoBERTa** (2019): new masks at every reading, no next-sentence prediction, more text
# - **ALBERT** (2019): layers that share their weights, and smaller token embeddings
# - **DistilBERT** (2019): half the layers, trained to imitate BERT
# - **ELECTRA** (2020): find the replaced tokens instead of guessing masked ones
# - **ModernBERT** (2024): rotary positions, and layers in which a token sees only its neighbours
#
# In this lesson you compute for each of them what the change does. First their sizes: the cell builds all of them without weights
# and counts their parameters.
# %% [markdown] ko
# # 11. BERT의 후손들은 무엇을 바꿨을까
#
# BERT는 2018년에 나왔어요. 후손들은 인코더를 그대로 두고 한두 가지만 바꿨어요.
#
# - **RoBERTa**(2019): 읽을 때마다 마스크를 새로 정하고, 다음 문장 예측을 빼고, 글을 더 많이 읽어요.
# - **ALBERT**(2019): 레이어들이 가중치를 함께 쓰고, 토큰 임베딩이 더 작아요.
# - **DistilBERT**(2019): 레이어가 절반이고, BERT를 흉내 내도록 학습해요.
# - **ELECTRA**(2020): 가린 토큰을 맞히는 대신 바뀐 토큰을 찾아내요.
# - **ModernBERT**(2024): 위치를 회전으로 나타내고, 토큰이 가까운 토큰만 보는 레이어가 있어요.
#
# 이 수업에서는 저마다의 변화가 무엇을 하는지 직접 계산해요. 먼저 크기부터 볼까요? 가중치 없이 모델을 만들어 매개변수를 세요.
# %%
import numpy as np
import torch

import bertlab
from bertlab.config.presets import change_family, get_preset
from bertlab.lessons import check, language, pick, show, show_table
from bertlab.nn.variants.model import FamilyBert


def build(family, size="base", **changes):
    config = change_family(get_preset(size).replace(**changes), family)
    with torch.device("meta"):  # shapes without numbers
        return FamilyBert(config)


def count_millions(module):
    return sum(parameter.numel() for parameter in module.parameters()) / 1e6


models = {
    "BERT": build("bert", vocab_size=30_522),
    "RoBERTa": build("roberta", vocab_size=50_265),
    "ALBERT": build("albert", vocab_size=30_000),
    "DistilBERT": build("distilbert", vocab_size=30_522, num_layers=6),
    "ModernBERT": build("modernbert", vocab_size=50_368, num_layers=22),
}
show_table(
    pick(en=("million parameters", "layers", "embeddings", "encoder", "all"), ko=("매개변수(백만)", "레이어", "임베딩", "인코더", "전체")),
    [
        (name, model.config.num_layers, *(f"{count_millions(part):.0f}" for part in (model.embeddings, model.encoder, model)))
        for name, model in models.items()
    ],
)
published = {"BERT": 110, "RoBERTa": 125, "ALBERT": 12, "DistilBERT": 66, "ModernBERT": 149}
assert all(abs(count_millions(models[name]) - published[name]) < 1 for name in published)
# %% [markdown] en
# All of these are the *base* size. ELECTRA is missing because it changes only what is learned: its encoder is BERT's.
#
# ## ALBERT: one layer, used twelve times
#
# ALBERT has a ninth of BERT's parameters. All its layers share one set of weights, and each token's embedding has 128 numbers, which one matrix
# extends to 768.
#
# **Predict.** How many multiplications does ALBERT save when it reads a sentence: most of them, half, or hardly any? The cell counts
# the multiplications of all linear layers while each model reads one token.
# %% [markdown] ko
# 모두 *base* 크기예요. ELECTRA는 배우는 내용만 바꾸고 인코더는 BERT와 같아서 표에 없어요.
#
# ## ALBERT: 레이어 하나를 열두 번
#
# ALBERT의 매개변수는 BERT의 9분의 1이에요. 모든 레이어가 가중치 한 벌을 함께 써요. 토큰 임베딩은 숫자 128개이고, 행렬 하나가 이를
# 768개로 늘려요.
#
# **예상해 보세요.** 문장을 읽을 때 ALBERT는 곱셈을 얼마나 줄일까요? 대부분, 절반, 아니면 거의 못 줄일까요? 모델마다 토큰 하나를 읽는 동안
# 모든 선형 레이어의 곱셈을 세요.
# %% predict
from bertlab.text.batch import Batch


def count_multiplications(model):
    counted = []
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda module, *_: counted.append(module.weight.numel()))
    ids_BT = torch.zeros(1, 1, dtype=torch.int64)
    model.eval()(Batch(ids_BT, ids_BT, torch.ones_like(ids_BT, dtype=torch.bool)))
    return sum(counted)


def build_real(family):
    torch.manual_seed(0)
    return FamilyBert(change_family(get_preset("mini").replace(vocab_size=1000), family))


counts = {}
for name, family in (("BERT", "bert"), ("ALBERT", "albert")):
    model = build_real(family)
    counts[name] = (count_millions(model.encoder), count_multiplications(model) / 1e6)
show_table(
    pick(
        en=("mini", "parameters of the encoder (million)", "multiplications per token (million)"),
        ko=("mini", "인코더 매개변수(백만)", "토큰당 곱셈(백만)"),
    ),
    [(name, *(f"{value:.2f}" for value in values)) for name, values in counts.items()],
)
assert counts["BERT"][0] > 3.5 * counts["ALBERT"][0]  # 4 layers with weights of their own
assert 1 <= counts["ALBERT"][1] / counts["BERT"][1] < 1.05
# %% [markdown] en
# Hardly any: shared weights save memory, not time. Each of the layers still multiplies by the shared matrices.
#
# ## RoBERTa: new masks at every reading
#
# BERT's authors masked the text before training: ten copies with ten masks, each read four times in forty epochs. RoBERTa draws a
# new mask at every reading. The picture shows which tokens of one sentence are masked in forty readings: on the left with ten masks that
# come again, on the right with forty.
# %% [markdown] ko
# 거의 못 줄여요. 가중치를 함께 쓰면 메모리는 줄지만 시간은 줄지 않아요. 레이어마다 같은 행렬을 다시 곱하니까요.
#
# ## RoBERTa: 읽을 때마다 새 마스크
#
# BERT의 저자들은 학습 전에 텍스트를 미리 가렸어요. 서로 다르게 가린 사본 열 개를 40에포크 동안 네 번씩 읽었어요. RoBERTa는 읽을 때마다
# 새로 가려요. 그림은 문장 하나를 마흔 번 읽을 때 어느 토큰을 가리는지 보여 줘요. 왼쪽은 마스크 열 개가 되풀이되고, 오른쪽은 마흔 번 다 달라요.
# %%
from plotly.subplots import make_subplots

from bertlab.text.pretraining.masking import MaskRule, mask_tokens

session = bertlab.load(pick(en="strongest", ko="korean"))
text = pick(
    en="The baker opens the shop at six, and the first children buy bread on their way to school.",
    ko="빵집은 아침 여섯 시에 문을 열고, 아이들은 학교에 가는 길에 빵을 산다.",
)
ids = [token.id for token in session.encode(text)]
READINGS = 40


def draw_masks(numbers):
    """Draw the mask with each number, as `bertlab pretrain` does -> bool [readings, tokens]."""
    ids_RT = torch.tensor(ids).repeat(len(numbers), 1)
    batch = Batch(ids_RT, torch.zeros_like(ids_RT), torch.ones_like(ids_RT, dtype=torch.bool))
    rule = MaskRule.for_tokenizer(session.tokenizer, mask_share=1.0, random_share=0.0)
    masked_batch, _, _ = mask_tokens(batch, torch.tensor(numbers), rule)
    return (masked_batch.input_ids_BT == rule.mask_id).numpy()


static_RT = draw_masks([reading % 10 for reading in range(READINGS)])
dynamic_RT = draw_masks(list(range(READINGS)))

figure = make_subplots(1, 2, shared_yaxes=True, subplot_titles=pick(
    en=("static: 10 masks, 4 times each", "dynamic: 40 masks"), ko=("정적: 마스크 10개를 4번씩", "동적: 마스크 40개")))
for column, masked_RT in enumerate((static_RT, dynamic_RT), 1):
    figure.add_heatmap(z=masked_RT.astype(int), colorscale=["#eef1f5", "#2a6fbb"], showscale=False, row=1, col=column)
    figure.update_xaxes(title_text=pick(en="token", ko="토큰"), row=1, col=column)
figure.update_yaxes(title_text=pick(en="reading", ko="읽은 횟수"), row=1, col=1)
figure.update_layout(height=340, margin={"l": 50, "r": 10, "t": 40, "b": 40})
show(figure, alt=pick(
    en="Two grids of 40 readings by tokens. On the left, the pattern of ten rows comes four times; on the right, all rows differ.",
    ko="읽은 횟수 40행과 토큰으로 된 격자 두 개. 왼쪽은 열 행의 무늬가 네 번 되풀이되고, 오른쪽은 행마다 달라요.",
))
different = [len(np.unique(masked_RT, axis=0)) for masked_RT in (static_RT, dynamic_RT)]
print(pick(en="different masks:", ko="서로 다른 마스크:"), *different)
assert different[0] == 10 and different[1] >= 38
# %% [markdown] en
# ## ELECTRA: a signal from every token
#
# A masked token teaches BERT something, but 85 % of the tokens are not predicted. In ELECTRA a small **generator** fills
# the masks, and the **discriminator** decides for every token whether it was replaced.
#
# **Predict.** Play the discriminator. The cell masks three tokens, draws a token for each from the model's predictions, and prints the
# result with its truth. Cover the table and look at the sentence first: which words were replaced?
# %% [markdown] ko
# ## ELECTRA: 모든 토큰에서 배우기
#
# BERT는 가린 토큰에서 배우지만, 토큰의 85%는 예측하지 않아요. ELECTRA에서는 작은 **생성기**가 마스크를 채우고, **판별기**가 모든
# 토큰마다 바뀐 토큰인지 판단해요.
#
# **예상해 보세요.** 판별기가 되어 보세요. 셀은 토큰 세 개를 가리고, 모델의 예측에서 토큰을 하나씩 뽑아 문장을 만들고, 답을 표로 보여 줘요. 표를 가리고
# 문장부터 보세요. 어느 단어가 바뀌었을까요?
# %% predict
sentence = pick(en=text, ko="이 섬은 사람이 살지 않았으나 정부가 등대를 세운 뒤 마을이 생겼다.")
places, seed = pick(en=([5, 11, 17], 3), ko=([4, 8, 10], 0))
ids_T = torch.tensor([token.id for token in session.encode(sentence)])


def predict_tokens(model, ids_T, places):
    """Compute the logits of the tokens at the masked places -> float32 [places, vocabulary]."""
    masked_1T = ids_T.index_fill(0, torch.tensor(places), session.tokenizer.mask_id)[None]
    with torch.no_grad():
        output = model(Batch(masked_1T, torch.zeros_like(masked_1T), torch.ones_like(masked_1T, dtype=torch.bool)))
        return model.head("mlm")(output.hidden_BTH[0, places], model.embeddings.token.weight)


probability_PV = predict_tokens(session.model, ids_T, places).softmax(-1)
drawn_P = torch.multinomial(probability_PV, 1, generator=torch.Generator().manual_seed(seed))[:, 0]
corrupted_T = ids_T.index_copy(0, torch.tensor(places), drawn_P)
is_replaced = (corrupted_T != ids_T)[places].tolist()
originals, drawn = (session.tokenizer.tokens(ids.tolist()) for ids in (ids_T[places], drawn_P))

print(session.tokenizer.decode(corrupted_T.tolist()))
show_table(
    pick(en=("original", "drawn", "replaced?"), ko=("원래 토큰", "뽑은 토큰", "바뀌었나?")),
    [(original, token, pick(en="yes", ko="예") if changed else pick(en="no", ko="아니요"))
     for original, token, changed in zip(originals, drawn, is_replaced)],
)
regular = len(ids_T) - 2  # without [CLS] and [SEP]
print(pick(en="BERT predicts:", ko="BERT가 예측하는 토큰:"), len(places), "/", regular)
print(pick(en="ELECTRA decides for:", ko="ELECTRA가 판단하는 토큰:"), regular, "/", regular)
assert 1 <= sum(is_replaced) < 3
# %% [markdown] en
# A token that the generator guessed right counts as original: the text is then as it was. The paper reports the largest gain
# for small models that are trained for a short time.
#
# ## DistilBERT: learn from the teacher's doubts
#
# A label says "this word, no other". A teacher says more: which other words would fit. **Distillation** trains a
# student on the teacher's whole distribution. A temperature T divides the logits before the softmax, so that small
# probabilities become visible. The student starts from every other layer of the teacher.
#
# **Predict.** The teacher has a first candidate for the gap below. At T = 2, does its lead over the others grow or shrink? And
# does a student that has half of the layers, but was not trained yet, predict what the teacher predicts?
# %% [markdown] ko
# 생성기가 원래 토큰을 맞히면 원본으로 쳐요. 텍스트가 그대로니까요. 논문에 따르면 작은 모델을 짧게 학습할 때 이득이 가장 커요.
#
# ## DistilBERT: 선생의 망설임에서 배우기
#
# 정답은 "이 단어뿐"이라고 말해요. 선생 모델은 더 많이 말해요. 다른 어떤 단어가 어울리는지도요. **지식 증류**는 학생 모델을 선생의 분포 전체로
# 학습해요. 소프트맥스 전에 로짓을 온도 T로 나누면 작은 확률이 눈에 보여요. 학생은 선생의 레이어를 하나씩 걸러 가져와서 시작해요.
#
# **예상해 보세요.** 선생에게는 아래 빈칸의 첫째 후보가 있어요. T = 2이면 다른 후보와의 차이가 커질까요, 줄어들까요? 레이어 절반만 가져온
# 학생은 학습하기 전에도 선생처럼 예측할까요?
# %% predict
from bertlab.nn.teacher_init import choose_teacher_layer, initialise_from_teacher

sentence = pick(en="He opened the [MASK] and went out.", ko="그는 서울에서 태어나 대학교를 [MASK] 하였다.")
ids_T = torch.tensor([token.id for token in session.encode(sentence)])
place = ids_T.tolist().index(session.tokenizer.mask_id)

teacher = session.model
student = type(teacher)(teacher.config.replace(num_layers=teacher.config.num_layers // 2), tuple(teacher.heads)).eval()
initialise_from_teacher(student, teacher)
copied = [choose_teacher_layer(n, student.config.num_layers, teacher.config.num_layers) for n in range(student.config.num_layers)]
print(pick(en="layers of the teacher:", ko="가져온 레이어:"), copied)

logits_V = {name: predict_tokens(model, ids_T, [place])[0] for name, model in (("teacher", teacher), ("student", student))}
soft_V = {T: (logits_V["teacher"] / T).softmax(-1) for T in (1, 2)}
student_V = logits_V["student"].softmax(-1)
best = soft_V[1].topk(5).indices.tolist()
words = session.tokenizer.tokens(best)
show_table(
    pick(en=("candidate", "teacher, T = 1", "teacher, T = 2", "student before training"), ko=("후보", "선생, T = 1", "선생, T = 2", "학습 전 학생")),
    [(word, *(f"{p_V[id]:.1%}" for p_V in (soft_V[1], soft_V[2], student_V))) for word, id in zip(words, best)],
)


def entropy(p_V):
    return -(p_V * p_V.clamp(min=1e-30).log()).sum().item()


print(pick(en="entropy of the teacher:", ko="선생의 엔트로피:"), *(f"T = {T}: {entropy(soft_V[T]):.2f}" for T in soft_V))
lead = {T: (p_V[best[0]] / p_V[best[1]]).item() for T, p_V in soft_V.items()}
print(pick(en="lead of the first candidate:", ko="첫째 후보는 둘째의 몇 배:"), *(f"T = {T}: {ratio:.1f}" for T, ratio in lead.items()))
assert entropy(soft_V[2]) > entropy(soft_V[1]) and np.isclose(lead[2], lead[1] ** 0.5)
assert student_V[best[0]] < soft_V[1][best[0]] / 2
# %% [markdown] en
# T = 2 takes the square root of the lead. The student has all embeddings and half of the layers, but it must still learn: the layers expect the output of the
# ones that are gone. `bertlab pretrain --family distilbert --start teacher` does both.
#
# ## ModernBERT: positions as angles
#
# BERT adds a position vector to each token. **Rotary positions** instead rotate each query and key by an angle that
# grows with the position. The product of a query and a key then depends only on how far apart they stand.
#
# **Predict.** A query at position 5 and a key at position 2 give a certain product. Which of these give the same: positions 105 and 102, 5 and 8,
# 50 and 20?
# %% [markdown] ko
# T = 2이면 이 배수가 제곱근으로 줄어요. 학생은 임베딩 전부와 레이어 절반을 가졌지만 아직 더 배워야 해요. 레이어들이 사라진 레이어의 출력을 기대하고 있으니까요.
# `bertlab pretrain --family distilbert --start teacher`가 둘 다 해요.
#
# ## ModernBERT: 각도로 나타낸 위치
#
# BERT는 토큰마다 위치 벡터를 더해요. **회전 위치**는 쿼리와 키를 위치에 따라 커지는 각도만큼 돌려요. 그러면 쿼리와 키의 곱은 둘이 얼마나 떨어져
# 있는지에만 달려 있어요.
#
# **예상해 보세요.** 위치 5의 쿼리와 위치 2의 키를 곱한 값이 있어요. 어느 것이 같은 값일까요? 위치 105와 102, 5와 8, 50과 20?
# %% predict
from bertlab.nn.variants.pre_norm import make_angles, rotate

torch.manual_seed(0)
query_D, key_D = torch.randn(2, 16)


def place_at(vector_D, position):
    angle_TD = make_angles(position + 1, len(vector_D), theta=10_000.0)
    return rotate(vector_D, angle_TD)[position]


def multiply(query_position, key_position):
    return (place_at(query_D, query_position) @ place_at(key_D, key_position)).item()


pairs = [(5, 2), (105, 102), (5, 8), (50, 20)]
products = [multiply(*pair) for pair in pairs]
show_table(
    pick(en=("query at", "key at", "distance", "query x key"), ko=("쿼리 위치", "키 위치", "거리", "쿼리 x 키")),
    [(*pair, pair[0] - pair[1], f"{product:.3f}") for pair, product in zip(pairs, products)],
)
assert np.isclose(products[0], products[1], atol=1e-3)
assert all(abs(product - products[0]) > 0.05 for product in products[2:])
# %% [markdown] en
# Only the distance counts, and its direction. So the layer needs no table of positions, and can read texts that are longer than those of its training.
#
# ## Who sees whom
#
# In two of three layers of ModernBERT, a token sees only its neighbours. Below are the masks of seven kinds of models; a coloured
# cell means that the token of this row sees the token of this column. Longformer and BigBird read long texts. GPT, XLNet, and
# T5 and BART are no encoders like BERT, so the app does not open them: GPT writes from left to right; XLNet predicts the tokens in a random
# order (here: 3 1 4 2 …), and each token sees those that come before it in this order; T5 and BART have an encoder like BERT's, and a decoder that writes
# from left to right and also sees the whole input.
# %% [markdown] ko
# 거리와 방향만 중요해요. 그래서 위치 표가 필요 없고, 학습할 때보다 긴 텍스트도 읽을 수 있어요.
#
# ## 누가 누구를 볼까
#
# ModernBERT에서는 레이어 셋 가운데 둘에서 토큰이 가까운 토큰만 봐요. 아래는 일곱 종류 모델의 마스크예요. 색칠한 칸은 그 행의 토큰이 그 열의 토큰을
# 본다는 뜻이에요. Longformer와 BigBird는 긴 텍스트를 읽어요. GPT, XLNet, 그리고 T5와 BART는 BERT 같은 인코더가 아니어서 앱에서 열 수 없어요.
# GPT는 왼쪽에서 오른쪽으로 글을 써요. XLNet은 토큰을 무작위 순서(여기서는 3 1 4 2 …)로 예측하고, 토큰은 그 순서에서 앞에 있는 토큰을 봐요. T5와
# BART에는 BERT 같은 인코더와, 왼쪽에서 오른쪽으로 쓰면서 입력 전체도 보는 디코더가 있어요.
# %%
from bertlab.nn.trace import Trace

T, WINDOW = 12, 2
row_T1, column_1T = np.arange(T)[:, None], np.arange(T)[None]
near_TT = abs(row_T1 - column_1T) <= WINDOW
order_T = np.array([3, 1, 4, 2, 8, 5, 7, 6, 12, 9, 11, 10]) - 1
rank_T = order_T.argsort()  # when each token is predicted
is_first_T1, is_first_1T = row_T1 < 1, column_1T < 1
random_TT = np.zeros((T, T), bool)
np.put_along_axis(random_TT, np.random.default_rng(1).integers(0, T, (T, 2)), True, axis=1)
INPUT = 6  # tokens 0 to 5 are the input of T5, the others its output
masks = {
    "BERT": np.ones((T, T), bool),
    "ModernBERT" + pick(en=", local layer", ko=" 지역 레이어"): near_TT,
    "Longformer": near_TT | is_first_T1 | is_first_1T,
    "BigBird": near_TT | is_first_T1 | is_first_1T | random_TT,
    "GPT": column_1T <= row_T1,
    "XLNet": rank_T[column_1T] < rank_T[row_T1],
    "T5, BART": np.where(row_T1 < INPUT, column_1T < INPUT, column_1T <= row_T1),
}


def trace_mask(layer, family="bert", **changes):
    config = change_family(get_preset("tiny").replace(vocab_size=50, **changes), family)
    if config.rotary:
        from dataclasses import replace

        config = config.replace(rotary=replace(config.rotary, window=2 * WINDOW))
    trace, ids_BT = Trace.of("probs"), torch.arange(T)[None]
    with torch.no_grad():
        FamilyBert(config).eval()(Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool)), trace=trace)
    return (torch.stack(list(trace["probs"]))[layer, 0, 0] > 0).numpy()


names = list(masks)
assert (trace_mask(0) == masks["BERT"]).all() and (trace_mask(0, left_to_right=True) == masks["GPT"]).all()
assert (trace_mask(1, "modernbert") == masks[names[1]]).all() and trace_mask(0, "modernbert").all()

figure = make_subplots(2, 4, subplot_titles=names, horizontal_spacing=0.03, vertical_spacing=0.14)
for index, visible_TT in enumerate(masks.values()):
    place_in_grid = {"row": index // 4 + 1, "col": index % 4 + 1}
    figure.add_heatmap(z=visible_TT.astype(int), zmin=0, zmax=1, colorscale=["#eef1f5", "#2a6fbb"], showscale=False, xgap=1, ygap=1, **place_in_grid)
    figure.update_yaxes(autorange="reversed", **place_in_grid)
figure.update_xaxes(showticklabels=False)
figure.update_yaxes(showticklabels=False)
figure.update_layout(height=430, margin={"l": 10, "r": 10, "t": 40, "b": 10})
show(figure, alt=pick(
    en="Seven grids of 12 x 12. BERT: all cells. ModernBERT: a band. Longformer: the band, first row and column. BigBird: also random "
    "cells. GPT: the lower triangle. XLNet: cells in no visible order. T5 and BART: a square above, a triangle below.",
    ko="12 x 12 격자 일곱 개. BERT는 모든 칸, ModernBERT는 띠, Longformer는 띠와 첫 행과 첫 열, BigBird는 여기에 무작위 칸, GPT는 아래 삼각형, "
    "XLNet은 순서가 보이지 않는 칸들, T5와 BART는 위쪽 정사각형과 아래쪽 삼각형이에요.",
))
# %% [markdown] en
# The cell compares the masks of BERT, GPT and ModernBERT with the attention of real models. For your own text,
# the page [Before and after](app:compare) puts checkpoints of different families side by side.
#
# ## Exercise 1
#
# ALBERT has a vocabulary of 30,000 tokens. How many numbers do its token embeddings have, together with the matrix that extends
# them from 128 to 768 numbers? (Without the bias.)
# %% [markdown] ko
# 셀은 BERT, GPT, ModernBERT의 마스크를 진짜 모델의 어텐션과 비교해요. 여러분의 텍스트로는 [모델·텍스트 비교](app:compare) 화면에서 여러 모델 계열의
# 체크포인트를 나란히 볼 수 있어요.
#
# ## 연습 1
#
# ALBERT의 어휘 집합에는 토큰이 30,000개 있어요. 토큰 임베딩과, 임베딩을 128개에서 768개로 늘리는 행렬을 합치면 숫자가 몇 개일까요? (편향은 빼고요.)
# %% exercise 1
numbers = ...
# %% check 1
factorised = 30_000 * 128 + 128 * 768
check(
    1, numbers,
    (lambda a: a != 30_000 * 768, pick(en="That is BERT: every token has 768 numbers of its own.", ko="그건 BERT예요. 토큰마다 숫자가 768개씩 있어요.")),
    (lambda a: a != 30_000 * 128, pick(en="The matrix is missing.", ko="행렬이 빠졌어요.")),
    (lambda a: a != factorised + 768, pick(en="Leave out the bias of the matrix.", ko="행렬의 편향은 빼세요.")),
    (lambda a: a == factorised, pick(
        en="Add two products: tokens times 128, and 128 times 768.", ko="곱 두 개를 더하세요. 토큰 수 곱하기 128, 그리고 128 곱하기 768이에요.")),
)
# %% solution 1
numbers = 30_000 * 128 + 128 * 768
print(f"{numbers:,}", f"{numbers / (30_000 * 768):.0%}")
# %% [markdown] en
# ## Exercise 2
#
# 15 % of the tokens are masked, and the generator draws the original token for 40 % of them. A lazy discriminator says
# "original" for every token. What is its accuracy, as a number between 0 and 1?
# %% [markdown] ko
# ## 연습 2
#
# 토큰의 15%를 가리고, 생성기가 그 가운데 40%에서 원래 토큰을 뽑아요. 게으른 판별기는 모든 토큰에 "원본"이라고 답해요. 정확도는 얼마일까요?
# 0과 1 사이의 수로 답하세요.
# %% exercise 2
lazy_accuracy = ...
# %% check 2
check(
    2, lazy_accuracy,
    (lambda a: 0 <= a <= 1, pick(en="The answer must be between 0 and 1.", ko="답은 0과 1 사이여야 해요.")),
    (lambda a: not np.isclose(a, 0.85), pick(
        en="Some of the masked tokens came back as the original.", ko="가린 토큰 가운데 일부는 원래 토큰으로 돌아왔어요.")),
    (lambda a: not np.isclose(a, 0.94), pick(
        en="Replaced are those that the generator got wrong.", ko="바뀐 토큰은 생성기가 틀린 토큰이에요.")),
    (lambda a: np.isclose(a, 1 - 0.15 * 0.6), pick(
        en="Which share of all tokens was replaced? The discriminator is wrong on those only.",
        ko="전체 토큰 가운데 바뀐 토큰의 비율은 얼마일까요? 판별기는 그것만 틀려요.")),
)
# %% solution 2
lazy_accuracy = 1 - 0.15 * (1 - 0.4)  # which is why recall is reported, and not only accuracy
print(f"{lazy_accuracy:.0%}")
# %% [markdown] en
# ## Exercise 3
#
# In a local layer of ModernBERT a token sees itself and 64 tokens on each side. How many pairs (token, visible token) are there in a
# text of 1,024 tokens?
# %% [markdown] ko
# ## 연습 3
#
# ModernBERT의 지역 레이어에서 토큰은 자기 자신과 양쪽 64개씩을 봐요. 토큰이 1,024개인 텍스트에는 (토큰, 볼 수 있는 토큰) 쌍이 몇 개 있을까요?
# %% exercise 3
local_pairs = ...
# %% check 3
distance_TT = abs(np.arange(1024)[:, None] - np.arange(1024)[None])
check(
    3, local_pairs,
    (lambda a: a != 1024**2, pick(en="That is a global layer.", ko="그건 전역 레이어예요.")),
    (lambda a: a != 1024 * 128, pick(en="Each token also sees itself.", ko="토큰은 자기 자신도 봐요.")),
    (lambda a: a != 1024 * 129, pick(
        en="Tokens near the beginning and the end have fewer neighbours.", ko="처음과 끝에 있는 토큰은 이웃이 적어요.")),
    (lambda a: a == (distance_TT <= 64).sum(), pick(
        en="Count the cells of the band in a grid of 1,024 x 1,024.", ko="1,024 x 1,024 격자에서 띠에 있는 칸을 세어 보세요.")),
)
# %% solution 3
local_pairs = 1024 * 129 - 2 * sum(range(1, 65))  # without the neighbours beyond both ends
print(f"{local_pairs:,}", f"{local_pairs / 1024**2:.0%}")
