# %% [markdown] en
# # 12. Thirty times faster
#
# A service that classifies texts has two speeds: its **throughput**, how many texts it answers per second, and its **latency**, how long one
# text takes. In 2020 the engineers of Roblox made a BERT on CPUs about thirty times faster, step by step. In this lesson you climb
# such a ladder yourself. Each step changes one thing, and you measure what it brings.
#
# The texts are reviews of one to four sentences. All times are processor times of one thread, which other programs hardly affect.
# %% [markdown] ko
# # 12. 서른 배 빠르게
#
# 텍스트를 분류하는 서비스의 속도는 두 가지예요. **처리량**은 1초에 답하는 텍스트 수이고, **지연 시간**은 텍스트 하나에 걸리는 시간이에요. 2020년에
# 로블록스의 엔지니어들은 CPU에서 돌아가는 BERT를 단계마다 조금씩 고쳐 서른 배쯤 빠르게 만들었어요. 이 수업에서는 그 사다리를 직접 올라가요. 단계마다 하나씩만
# 바꾸고, 얼마나 빨라지는지 재요.
#
# 텍스트는 문장 한 개에서 네 개로 된 영화평이에요. 시간은 모두 스레드 하나의 프로세서 시간이라서 다른 프로그램의 영향을 거의 받지 않아요.
# %%
import time

import numpy as np
import torch

import bertlab
from bertlab.config.tasks import get_task
from bertlab.lessons import check, is_fast, language, pick, show, show_table
from bertlab.tasks.example_rows import generate_rows

torch.set_num_threads(1)
name = pick(en="sst2", ko="nsmc")
session, spec = bertlab.load(name), get_task(name)
rows = generate_rows(spec, language=language(), count=400)
sentences = [[row[spec.text[0]] for row in rows if row["label"] == label] for label in session.config.labels]

texts, labels = [], []
for number in range(32 if is_fast() else 64):
    label, count = number % 2, 1 + number // 2 % 4
    texts.append(" ".join(sentences[label].pop() for _ in range(count)))
    labels.append(label)
tokenizer, max_tokens = session.tokenizer, 128
encoded = [[tokenizer.cls_id, *ids, tokenizer.sep_id] for ids in tokenizer.encode_ids(texts)]
lengths = np.array([len(ids) for ids in encoded])

print(texts[0], texts[6], sep="\n")
print(pick(en="texts:", ko="텍스트 수:"), len(texts))
print(pick(en="tokens, shortest, mean, longest:", ko="토큰 수(최소, 평균, 최대):"), lengths.min(), round(lengths.mean(), 1), lengths.max())
assert lengths.max() <= max_tokens and lengths.mean() < max_tokens / 2
# %% [markdown] en
# ## Step 1 and 2: a large model, then a small one
#
# Many services start like this: a BERT of base size (12 layers, hidden size 768), and every text padded to the same length, here 128. The second
# step replaces the model by a small one that was fine-tuned on the same task. Distillation makes such models too.
#
# **Predict.** Write down two numbers: how many texts per second does one thread classify with the base size? And how many times as many with
# the small model? The cell prints the size of both, and then measures. The large model has random weights, which need the same time as
# trained ones.
# %% [markdown] ko
# ## 1단계와 2단계: 큰 모델에서 작은 모델로
#
# 서비스는 흔히 이렇게 시작해요. base 크기(레이어 12개, 은닉 차원 768)의 BERT를 쓰고, 텍스트를 모두 같은 길이(여기서는 128)로 패딩을 채워요. 2단계에서는 같은
# 과제로 파인튜닝한 작은 모델로 바꿔요. 지식 증류로도 이런 모델을 만들어요.
#
# **예상해 보세요.** 두 숫자를 적으세요. base 크기로는 스레드 하나가 1초에 텍스트를 몇 개 분류할까요? 작은 모델은 그 몇 배일까요? 셀은 두 모델의 크기를 보여 주고
# 속도를 재요. 큰 모델의 가중치는 무작위지만, 학습한 가중치를 쓸 때와 같은 시간이 걸려요.
# %% predict
from bertlab.config.presets import get_preset
from bertlab.nn.bert import Bert
from bertlab.text.batch import Batch


def pad(rows, length):
    """Pad token ids to a length, and mark which positions are tokens."""
    ids_BT = torch.full((len(rows), length), tokenizer.pad_id)
    for ids_T, ids in zip(ids_BT, rows):
        ids_T[: len(ids)] = torch.tensor(ids)
    length_B1 = torch.tensor([[len(ids)] for ids in rows])
    return Batch(ids_BT, torch.zeros_like(ids_BT), torch.arange(length) < length_B1)


@torch.inference_mode()
def predict(model, batches):
    return [label for batch in batches for label in model.logits("classify", batch).argmax(-1).tolist()]


def measure(model, batches):
    """Measure the texts per second of processor time, and return them with the predicted labels."""
    predict(model, batches[:1])  # the first computation takes longer than others
    start = time.process_time()
    predicted = predict(model, batches)
    return len(predicted) / (time.process_time() - start), predicted


config = session.config
base = Bert(get_preset("base").replace(vocab_size=config.vocab_size, labels=config.labels), ("classify",)).eval()
# The plain implementation computes padding as it is written in the paper; `session.model` would leave it out by itself.
small = Bert(config, ("classify",)).eval()
small.load_state_dict(session.model.state_dict())


def count_millions(model):
    """Count the weights that every token is multiplied with, in millions."""
    return sum(parameter.numel() for parameter in model.encoder.parameters()) / 1e6


padded = [pad(encoded[start : start + 8], max_tokens) for start in range(0, len(encoded), 8)]
speeds, predictions = {}, {}
speeds["base"], _ = measure(base, [pad(encoded[:3], max_tokens)])  # three texts suffice
speeds["small"], predictions["small"] = measure(small, padded)
show_table(
    pick(en=("model", "million weights per token", "texts/s", "times"), ko=("모델", "토큰당 가중치(백만)", "초당 텍스트", "배")),
    [
        (f"{model.config.num_layers} x {model.config.hidden_size}", f"{count_millions(model):.1f}", f"{speeds[name]:.1f}", f"{speeds[name] / speeds['base']:.1f}")
        for name, model in (("base", base), ("small", small))
    ],
)
accuracy = np.mean(np.equal(predictions["small"], labels))
print(pick(en="accuracy of the small model on these easy reviews:", ko="이 쉬운 영화평에서 작은 모델의 정확도:"), f"{accuracy:.0%}")
recorded = session.record["validation"]["accuracy"]
print(pick(en="accuracy on real reviews, from its record:", ko="진짜 영화평에서 잰 정확도(기록):"), f"{recorded:.1f}%")
assert speeds["small"] > 3 * speeds["base"] and round(recorded, 1) == pick(en=88.8, ko=84.4)
del base
# %% [markdown] en
# The time follows the number of weights, since every token is multiplied with each of them once. A small model also costs accuracy: on the real
# reviews of SST-2, the shipped *sst2* has 88.8 %, and the paper's base size 92.7 % (on NSMC: 84.4 % and about 90.6 %). No later step
# costs that much.
#
# ## Step 3: less padding
#
# Padding is computed like text, and then ignored. Instead of 128, you can pad each batch to its longest text only.
#
# **Predict.** Which is faster: batches of eight texts in the order of arrival, or batches of texts of similar length? How many times faster
# than padding to 128 is each of them?
# %% [markdown] ko
# 토큰마다 모든 가중치와 한 번씩 곱하니까, 걸리는 시간은 가중치 수를 따라가요. 작은 모델은 정확도를 조금 잃어요. 진짜 SST-2 영화평에서 함께 제공하는 *sst2*는
# 88.8%, 논문의 base 크기는 92.7%예요(NSMC에서는 84.4%와 90.6%쯤). 뒤에 나올 단계는 이만큼 잃지 않아요.
#
# ## 3단계: 패딩 줄이기
#
# 패딩은 텍스트와 똑같이 계산하고 나서 버려요. 128까지 채우는 대신, 배치마다 가장 긴 텍스트까지만 채우면 돼요.
#
# **예상해 보세요.** 도착한 순서대로 여덟 개씩 묶는 것과 길이가 비슷한 것끼리 묶는 것 가운데 어느 쪽이 빠를까요? 128까지 채울 때보다 각각 몇 배 빠를까요?
# %% predict
def make_batches(order, size=8):
    groups = [[encoded[row] for row in order[start : start + size]] for start in range(0, len(order), size)]
    return [pad(group, max(map(len, group))) for group in groups]


by_length = np.argsort(-lengths, kind="stable").tolist()
ways = {
    pick(en="128", ko="128"): padded,
    pick(en="longest of the batch", ko="배치에서 가장 긴 텍스트"): make_batches(list(range(len(texts)))),
    pick(en="grouped by length", ko="길이가 비슷한 것끼리"): make_batches(by_length),
}
results = {way: measure(small, batches) for way, batches in ways.items()}
computed = {way: sum(batch.input_ids_BT.numel() for batch in batches) for way, batches in ways.items()}
first, arrival, grouped = ways
show_table(
    pick(en=("padded to", "positions computed", "of them tokens", "texts/s"), ko=("패딩 기준", "계산한 자리", "그중 토큰", "초당 텍스트")),
    [(way, f"{computed[way]:,}", f"{lengths.sum() / computed[way]:.0%}", f"{results[way][0]:.1f}") for way in ways],
)
speeds["dynamic"] = results[grouped][0]
predictions["dynamic"] = [label for _, label in sorted(zip(by_length, results[grouped][1]))]
assert computed[grouped] < computed[arrival] < computed[first]
assert results[grouped][0] > 1.3 * results[first][0]
assert np.mean(np.equal(predictions["dynamic"], predictions["small"])) > 0.95
# %% [markdown] en
# A group of similar texts has almost no padding. A server does the same with the requests that wait in its queue.
#
# ## Step 4: numbers of eight bits
#
# A weight in float32 needs 32 bits. **Quantisation** stores a row of a matrix as integers from -127 to 127 and one scale:
# the weight is about integer x scale. Activations are quantised in the same way while the model computes, so the product is one of integers.
#
# **Predict.** How large is the error of such a product, compared with the product itself: 30 %, 3 % or 0.3 %?
# %% [markdown] ko
# 비슷한 텍스트끼리 묶으면 패딩이 거의 없어요. 서버도 대기열에서 기다리는 요청을 이렇게 묶어요.
#
# ## 4단계: 8비트 숫자
#
# float32 가중치 하나는 32비트예요. **양자화**는 행렬의 행을 -127부터 127까지의 정수와 배율 하나로 저장해요. 정수에 배율을 곱하면 가중치와 비슷한 값이에요. 활성값도
# 계산하는 동안 똑같이 바꿔서, 정수끼리 곱해요.
#
# **예상해 보세요.** 이렇게 곱한 값의 오차는 원래 값의 30%, 3%, 0.3% 가운데 어느 쪽에 가까울까요?
# %% predict
weight_OI = small.encoder.layers[0].feed_forward.up.weight.detach()
with torch.inference_mode():
    hidden_TI = small.embeddings(padded[0].input_ids_BT[:1, : lengths[0]], padded[0].token_type_ids_BT[:1, : lengths[0]])[0]


def quantise(matrix, dim=None):
    """Round a matrix to integers; one scale for each row (dim=1) or one for all numbers."""
    largest = matrix.abs().amax() if dim is None else matrix.abs().amax(dim, keepdim=True)
    scale = largest / 127
    return (matrix / scale).round().to(torch.int32), scale


weight_codes_OI, weight_scale_O1 = quantise(weight_OI, dim=1)
hidden_codes_TI, hidden_scale = quantise(hidden_TI)
product_TO = hidden_TI @ weight_OI.T
integer_TO = (hidden_codes_TI.double() @ weight_codes_OI.double().T).float()  # whole numbers
approximate_TO = integer_TO * hidden_scale * weight_scale_O1.T
error = ((approximate_TO - product_TO).norm() / product_TO.norm()).item()
print(pick(en="a weight, its integer, integer x scale:", ko="가중치, 정수, 정수 x 배율:"),
      f"{weight_OI[0, 0]:.4f}", weight_codes_OI[0, 0].item(), f"{weight_codes_OI[0, 0] * weight_scale_O1[0, 0]:.4f}")
print(pick(en="error of the product:", ko="곱의 오차:"), f"{error:.2%}")
assert 0.01 < error < 0.03 and torch.equal(integer_TO, integer_TO.round())
# %% [markdown] en
# One to three percent. The errors of hundreds of products have both signs and mostly cancel out.
#
# Integers are faster only if the program multiplies them with the processor's instructions for integers. **ONNX Runtime** does. It also joins
# operations, and reads the model from a file. The cell writes two files, with float32 and with int8, and measures both.
# `bertlab export sst2 --format onnx` writes such files too.
#
# **Predict.** Which of the two changes brings more: ONNX Runtime, or int8? How many of the texts get another label than before?
# %% [markdown] ko
# 1~3%예요. 곱 수백 개의 오차에는 양수도 음수도 있어서 대부분 서로 지워져요.
#
# 정수가 빠르려면 프로세서의 정수 곱셈 명령을 써야 해요. **ONNX Runtime**이 그렇게 해요. 연산도 여러 개를 하나로 합치고, 모델은 파일에서 읽어요. 셀은 float32
# 파일과 int8 파일을 만들어 둘 다 재요. `bertlab export nsmc --format onnx` 명령도 이런 파일을 만들어요.
#
# **예상해 보세요.** ONNX Runtime과 int8 가운데 어느 쪽의 효과가 더 클까요? 레이블이 달라지는 텍스트는 몇 개일까요?
# %% predict
import tempfile
from pathlib import Path

from bertlab.checkpoints import checkpoint, onnx_files

batches, sizes = ways[grouped], {}
with tempfile.TemporaryDirectory() as directory:
    for step, weights in (("onnx", "float32"), ("int8", "int8")):
        path = onnx_files.save(Path(directory) / weights, session.model, tokenizer, {}, heads=("classify",), weights=weights)
        model = checkpoint.load(path).model
        speeds[step], predicted = measure(model, batches)
        predictions[step] = [label for _, label in sorted(zip(by_length, predicted))]
        sizes[step] = (path / "model.onnx").stat().st_size / 1e6
show_table(
    pick(en=("weights", "MB", "texts/s", "other labels"), ko=("가중치", "MB", "초당 텍스트", "다른 레이블")),
    [
        (weights, f"{sizes[step]:.1f}", f"{speeds[step]:.1f}", int(np.not_equal(predictions[step], predictions["small"]).sum()))
        for step, weights in (("onnx", "float32"), ("int8", "int8"))
    ],
)
assert sizes["int8"] < sizes["onnx"] / 3
assert np.mean(np.equal(predictions["onnx"], predictions["small"])) > 0.95
assert np.mean(np.equal(predictions["int8"], predictions["small"])) > 0.9
# %% [markdown] en
# ## The whole ladder
#
# Two steps are left. On several cores, one process with one thread for each core wins against one process with all threads, since the
# threads of a batch wait for each other after every operation. And a **cache** answers repeated texts without a model.
#
# **Predict.** Multiply what you have seen: how many times faster is the last bar than the first?
# %% [markdown] ko
# ## 사다리 전체
#
# 두 단계가 남았어요. 코어가 여러 개면, 모든 스레드가 한 배치를 나눠 계산하는 것보다 스레드가 하나뿐인 프로세스를 코어마다 두는 편이 빨라요. 한 배치를 나눠
# 계산하는 스레드들은 연산이 끝날 때마다 서로를 기다리거든요. 그리고 **캐시**는 되풀이되는 텍스트에 모델 없이 답해요.
#
# **예상해 보세요.** 지금까지 본 것을 곱해 보세요. 마지막 막대는 첫 막대의 몇 배일까요?
# %% predict
import plotly.graph_objects as go

steps = pick(
    en={"base": "base size, padded", "small": "small model", "dynamic": "less padding", "onnx": "ONNX Runtime", "int8": "int8"},
    ko={"base": "base 크기, 패딩", "small": "작은 모델", "dynamic": "패딩 줄이기", "onnx": "ONNX Runtime", "int8": "int8"},
)
values = [speeds[step] for step in steps]
figure = go.Figure(go.Bar(
    x=values, y=list(steps.values()), orientation="h", marker_color="#2a6fbb", textposition="outside", cliponaxis=False,
    text=[f"{value:,.0f} · {value / values[0]:,.0f}×" for value in values],
))
figure.update_yaxes(autorange="reversed")
figure.update_xaxes(title_text=pick(en="texts per second, one thread", ko="초당 텍스트, 스레드 하나"), range=[0, 1.3 * max(values)])
figure.update_layout(height=300, margin={"l": 10, "r": 10, "t": 10, "b": 40})
show(figure, alt=pick(
    en="Horizontal bars of the texts per second after each step. The first bar can hardly be seen beside the last one.",
    ko="단계마다 초당 텍스트 수를 나타낸 가로 막대. 첫 막대는 마지막 막대 옆에서 거의 보이지 않아요.",
))
print(pick(en="times faster:", ko="몇 배 빨라졌나:"), f"{values[-1] / values[0]:.0f}")
assert values[-1] > 30 * values[0]
# %% [markdown] en
# More than thirty times. The page [Faster serving](app:serving) shows the same steps with all cores, real reviews and their accuracy, and
# `bertlab bench serve sst2` measures them on your machine.
#
# **Think.** Which steps would you also take for a model that must not lose any accuracy? Which ones help if only one text arrives at a time?
#
# ## Exercise 1
#
# Four texts of 5, 9, 40 and 42 tokens wait. A batch has two texts, grouped by length, each padded to the longest text of its batch. How many
# positions does the model compute for all four?
# %% [markdown] ko
# 서른 배가 넘어요. [빠른 서빙](app:serving) 화면에서 모든 코어와 진짜 영화평으로 잰 같은 단계들을 정확도와 함께 볼 수 있어요. `bertlab bench serve nsmc` 명령은
# 여러분의 컴퓨터에서 재요.
#
# **생각해 보세요.** 정확도를 조금도 잃으면 안 되는 모델이라면 어느 단계를 쓸 수 있을까요? 텍스트가 한 번에 하나씩만 온다면 어느 단계가 도움이 될까요?
#
# ## 연습 1
#
# 토큰이 5, 9, 40, 42개인 텍스트 네 개가 기다려요. 길이가 비슷한 것끼리 두 개씩 묶고, 배치마다 가장 긴 텍스트까지 패딩을 채워요. 모델이 계산하는 자리는 모두 몇 개일까요?
# %% exercise 1
positions = ...
# %% check 1
check(
    1, positions,
    (lambda a: a != 4 * 128, pick(en="That is padding to 128.", ko="그건 128까지 채울 때예요.")),
    (lambda a: a != 4 * 42, pick(en="That is one batch of four.", ko="그건 네 개를 한 배치로 묶을 때예요.")),
    (lambda a: a != 5 + 9 + 40 + 42, pick(en="Padding is computed too.", ko="패딩도 계산해요.")),
    (lambda a: a == 2 * 9 + 2 * 42, pick(
        en="Two batches: what is the longest text of each?", ko="배치가 두 개예요. 각각 가장 긴 텍스트는 무엇인가요?")),
)
# %% solution 1
positions = 2 * 9 + 2 * 42
print(positions, f"{positions / (4 * 128):.0%}")
# %% [markdown] en
# ## Exercise 2
#
# On two cores, a batch takes 10 ms with one thread and 6 ms with two threads. How many times the throughput of one process with two threads
# do two processes with one thread each have? (And think: which one has the lower latency?)
# %% [markdown] ko
# ## 연습 2
#
# 코어가 두 개예요. 배치 하나에 스레드 하나로는 10 ms, 스레드 두 개로는 6 ms가 걸려요. 스레드가 하나씩인 프로세스 두 개의 처리량은 스레드가 두 개인 프로세스 하나의
# 몇 배일까요? (지연 시간은 어느 쪽이 짧을지도 생각해 보세요.)
# %% exercise 2
ratio = ...
# %% check 2
check(
    2, ratio,
    (lambda a: not np.isclose(a, 10 / 6), pick(
        en="That compares the latencies.", ko="그건 지연 시간을 비교한 값이에요.")),
    (lambda a: not np.isclose(a, 0.6), pick(en="Two processes work at the same time.", ko="프로세스 두 개가 동시에 계산해요.")),
    (lambda a: np.isclose(a, (2 / 10) / (1 / 6)), pick(
        en="How many batches per millisecond does each of the two ways compute?", ko="두 방법은 각각 1 ms에 배치 몇 개를 계산할까요?")),
)
# %% solution 2
ratio = (2 / 10) / (1 / 6)
print(f"{ratio:.1f}")  # one process with two threads has the lower latency: 6 ms instead of 10 ms
# %% [markdown] en
# ## Exercise 3
#
# A service answers 500 texts per second. Then it gets a cache, and 40 % of the requests repeat an earlier text, which takes no time. How many requests
# per second does it answer?
# %% [markdown] ko
# ## 연습 3
#
# 어떤 서비스가 1초에 텍스트 500개에 답해요. 캐시를 달았더니 요청의 40%가 앞서 온 텍스트와 같아서 시간이 들지 않아요. 이제 1초에 요청 몇 개에 답할까요?
# %% exercise 3
requests_per_second = ...
# %% check 3
check(
    3, requests_per_second,
    (lambda a: not np.isclose(a, 500 * 1.4), pick(
        en="The other 60 % are the only work: how many requests contain 500 of them?",
        ko="계산이 필요한 것은 나머지 60%뿐이에요. 그런 요청 500개가 들어 있으려면 요청이 모두 몇 개일까요?")),
    (lambda a: not np.isclose(a, 500 * 0.6), pick(en="A cache makes it faster.", ko="캐시가 있으면 더 빨라져요.")),
    (lambda a: abs(a - 500 / 0.6) < 1, pick(
        en="500 texts per second are computed, and they are 60 % of the requests.", ko="1초에 계산하는 텍스트는 500개이고, 그것이 요청의 60%예요.")),
)
# %% solution 3
requests_per_second = 500 / 0.6
print(round(requests_per_second))
