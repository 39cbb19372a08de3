# %% [markdown] en
# # 6. Pre-train one yourself in five minutes
#
# BERT was pre-trained for four days on a cluster. What happens in such a training, and in which order? To watch it, you need neither
# the cluster nor Wikipedia. In this lesson you train a small BERT from random weights, on a text that is small enough to be learned in minutes:
# the *story world*, short stories that bertlab makes up from a seed.
#
# The run takes about five minutes on one core of a laptop. With `FAST=1` it is shorter, about a minute, and the outputs stored in this
# notebook are of such a run. The full run is stored in `runs` and opened again when you come back.
# %% [markdown] ko
# # 6. 5분 만에 직접 사전 학습하기
#
# BERT는 클러스터에서 나흘 동안 사전 학습했어요. 그런 학습에서는 무슨 일이 어떤 순서로 일어날까요? 클러스터도 위키백과도 없이 지켜볼 수 있어요. 이
# 수업에서는 작은 BERT를 무작위 가중치부터 학습해요. 텍스트는 몇 분이면 배울 수 있을 만큼 작은 *이야기 세계*예요. bertlab이 시드로 지어내는
# 짧은 이야기들이에요.
#
# 학습은 노트북 컴퓨터의 코어 하나로 5분쯤 걸려요. `FAST=1`이면 짧게 학습해서 1분쯤 걸리고, 이 노트북에 저장된 출력이 그 결과예요. 끝까지 학습하면
# 학습 기록을 `runs`에 저장해 두고, 다시 실행할 때는 그것을 열어요.
# %%
import contextlib
import io
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import bertlab
from bertlab.checkpoints.checkpoint import read_record
from bertlab.checkpoints.history import find_snapshots, read_log
from bertlab.abilities.timeline.compute import timeline
from bertlab.lessons import check, is_fast, language, pick, show, show_table
from bertlab.text.story_world.world import StoryWorld
from bertlab.training.pretraining.cloze import read_clozes
from bertlab.views import curves, figures

temporary = tempfile.TemporaryDirectory()
directory = Path(temporary.name) if is_fast() else Path(bertlab.__file__).parents[1] / "runs"
world, held_out, run = (directory / f"lesson-6-{name}{language()}" for name in ("world-", "held-out-", ""))


@contextlib.contextmanager
def quiet():  # without progress bars
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


with quiet():
    corpus = bertlab.prepare("story-world", out=world, language=language(), documents=6000, vocab_size=2048, workers=1)
stories = [story.text for story in StoryWorld(language(), seed=0).documents(600, held_out=True)]
assert corpus.documents == 6000 and len(set(stories)) == 600
print(stories[0])
print(f"\n{corpus.documents:,} / {corpus.tokens:,} / {corpus.characters:,}")
# %% [markdown] en
# Above: a story of the held-out part, which the model never trains on, and the numbers of stories, tokens and characters to train on.
#
# ## Training
#
# One call trains a model of two layers on masked tokens and next sentences. The recipe *fast* masks a quarter of
# the tokens instead of 15 %, so that each step teaches more. Every few steps, the model is measured on held-out stories, with
# the usual 15 %, and a snapshot is saved. On the command line it is
# `bertlab pretrain --out runs/mine --recipe fast --preset tiny --minutes 5`.
#
# The app's page [Train a BERT live](app:train-live) starts such a run with a button.
# %% [markdown] ko
# 위는 검증용 이야기 하나와, 학습할 이야기, 토큰, 글자의 수예요. 검증용 이야기로는 학습하지 않아요.
#
# ## 학습
#
# 한 번의 호출로 레이어가 두 개인 모델을 마스크 토큰과 다음 문장으로 학습해요. 레시피 *fast*는 토큰의 15%가 아니라 4분의 1을 가려서 한 스텝에
# 더 많이 배우게 해요. 학습 중간중간 검증용 이야기로 성능을 재고(이때는 15%를 가려요) 스냅샷을 저장해요. 명령줄에서는
# `bertlab prepare story-world --language ko --out runs/world`와
# `bertlab pretrain runs/world --out runs/mine --recipe fast --preset tiny --minutes 5`예요.
#
# 앱의 [BERT 실시간 학습](app:train-live) 화면에서는 버튼으로 이런 학습을 시작할 수 있어요.
# %%
with quiet():
    result = bertlab.pretrain(
        world, run, validation=f"{world}-heldout", recipe="fast", preset="tiny", attention_heads=4, optim={"lr": 2e-3},
        batch_size=8, final_max_tokens=None, steps=600 if is_fast() else 4000, evaluate_rows=256, threads=1,
    )  # fmt: skip
session = result.load()
log = list(read_log(run))
steps = [row for row in log if "mlm_loss" in row]
parameters = sum(parameter.numel() for parameter in session.model.parameters())

assert len(steps) == result.steps and session.config.num_layers == 2
print(f"{parameters:,} parameters, {result.steps:,} steps, {result.tokens:,} tokens")
# %% [markdown] en
# ## The loss
#
# The loss is the sum of two cross-entropies, that of the masked tokens and that of the next sentence (lessons 3 and 4).
#
# **Predict.** The vocabulary has 2,048 tokens, and the model knows nothing. At which loss does the curve begin? And what shape
# does it have: a straight line down, a curve that flattens, or steps?
# %% [markdown] ko
# ## 손실
#
# 손실은 크로스 엔트로피 두 개의 합이에요. 하나는 마스크 토큰, 하나는 다음 문장의 손실이에요(3번과 4번 수업).
#
# **예상해 보세요.** 어휘 집합에 토큰이 2,048개 있고 모델은 아무것도 몰라요. 곡선은 어떤 손실에서 시작할까요? 모양은 어떨까요? 곧게 내려갈까요,
# 점점 완만해질까요, 계단 모양일까요?
# %% predict
show(
    curves.run_curves({pick(en="my run", ko="내 학습"): log}, "loss", x="step", lang=language()),
    alt=pick(
        en="The loss over the steps: it starts near 8.5, falls fast, rests on a plateau, and falls again.",
        ko="스텝에 따른 손실. 8.5 근처에서 시작해 빠르게 떨어지고, 평평한 곳에 머물다가 다시 떨어져요.",
    ),
)
guessing = np.log(session.config.vocab_size) + np.log(2)
first, last = (np.mean([row["loss"] for row in rows]) for rows in (steps[:3], steps[-50:]))
print(f"ln 2048 + ln 2 = {guessing:.2f}   {first:.2f} -> {last:.2f}")
assert guessing - 0.3 < first < guessing + 1 and last < 5
# %% [markdown] en
# It begins where guessing would: ln 2048 for the token, ln 2 for the sentence, and a bit more, because random weights do not guess
# evenly. Then it falls quickly, and *waits*. The page [Training](app:training) of the app draws these curves for every run, also
# while it is training.
#
# ## Two tasks, two speeds
#
# **Predict.** Two things are learned at the same time: which token is masked, and whether sentence B follows A. The second has only
# two answers. Which does the model learn first?
# %% [markdown] ko
# 손실은 찍을 때의 값에서 시작해요. 토큰은 ln 2048, 문장은 ln 2이고, 무작위 가중치는 고르게 찍지 않아서 조금 더 커요. 그다음 빠르게 떨어지다가
# *기다려요*. 앱의 [학습](app:training) 화면은 모든 학습 기록의 곡선을 그려 줘요. 학습하는 동안에도 볼 수 있어요.
#
# ## 두 태스크, 두 속도
#
# **예상해 보세요.** 모델은 두 가지를 함께 배워요. 가려진 토큰이 무엇인지, 그리고 문장 B가 A에 이어지는지예요. 둘째는 답이 두 개뿐이에요. 모델은
# 어느 쪽을 먼저 배울까요?
# %% predict
measured = {row["step"]: row["validation"] for row in log if "validation" in row}
measured[result.steps] = result.metrics  # the final measurement, on four times as many pairs
mlm, nsp = ({step: values[name] for step, values in measured.items()} for name in ("masked_accuracy", "nsp_accuracy"))

figure = figures.empty_figure(height=320)
for values, name, dash in (
    (mlm, pick(en="masked-token accuracy", ko="마스크 토큰 정확도"), "solid"),
    (nsp, pick(en="next-sentence accuracy", ko="다음 문장 정확도"), "dot"),
):
    shown = [step for step in sorted(values) if step]  # a logarithmic axis has no 0
    figure.add_scatter(x=shown, y=[values[step] for step in shown], name=name, line={"dash": dash}, mode="lines+markers")
figure.update_xaxes(type="log", title=pick(en="step", ko="스텝"), tickvals=[10, 30, 100, 300, 1000, 3000])
figure.update_yaxes(range=[0, 1], tickformat=".0%", showgrid=True, gridcolor=figures.GRID)
show(
    figure,
    alt=pick(
        en="Accuracy over the steps: that of masked tokens starts at 0 and rises from step 100 on; that of next sentences is still 50 % at step 300.",
        ko="스텝에 따른 정확도. 마스크 토큰은 0에서 시작해 100스텝 무렵부터 오르고, 다음 문장은 300스텝까지 50% 근처예요.",
    ),
)
show_table(
    pick(en=("step", "masked tokens", "next sentence"), ko=("스텝", "마스크 토큰", "다음 문장")),
    [(step, f"{mlm[step]:.1%}", f"{nsp[step]:.1%}") for step in sorted(measured)],
)
assert mlm[0] < 0.02 and 0.05 < mlm[100] < 0.16 and mlm[300] > 1.4 * mlm[100]
assert all(0.38 < nsp[step] < 0.62 for step in (0, 10, 30, 100, 300))
assert mlm[result.steps] > 0.3 and (is_fast() or nsp[result.steps] > 0.65)
# %% [markdown] en
# The masked tokens come first. To tell whether B follows A, the vector of `[CLS]` must collect what both sentences are about, and
# that needs tokens that already mean something. With `FAST=1` the run ends before that; in the full run, the next sentence takes
# off as well. A task with only two answers can be the harder one: one bit per pair is little to learn from.
#
# ## The time machine
#
# The run saved snapshots. Each is a complete BERT that can be asked: what goes into this gap?
#
# **Predict.** What does the model say at step 0? At step 100, when it gets a tenth of all tokens right? At which
# snapshot does it understand that a *time of day* belongs into the gap?
# %% [markdown] ko
# 마스크 토큰이 먼저예요. B가 A에 이어지는지 알려면 `[CLS]`의 벡터가 두 문장의 내용을 모아야 하고, 그러려면 토큰의 뜻부터 알아야 해요. `FAST=1`이면
# 그 전에 학습이 끝나요. 끝까지 학습하면 다음 문장의 정확도도 올라요. 답이 두 개뿐이어도 더 어려울 수 있어요. 쌍마다 1비트만 배울 수 있으니까요.
#
# ## 타임머신
#
# 학습하는 동안 스냅샷을 저장했어요. 스냅샷 하나하나가 온전한 BERT라서, 이 빈칸에 무엇이 들어갈지 물어볼 수 있어요.
#
# **예상해 보세요.** 0스텝의 모델은 무엇이라고 할까요? 전체 토큰의 10분의 1쯤을 맞히는 100스텝에서는요? 빈칸에 *시간*을 나타내는 말이 들어간다는
# 것은 어느 스냅샷부터 알까요?
# %% predict
sentence = pick(
    en="It was Wednesday [MASK] when Ida came to the market.",
    ko="눈 내리는 월요일 [MASK], 태오는 평소보다 일찍 초콜릿 공장에 도착했다.",
)
times = pick(en=["morning", "afternoon", "evening", "night"], ko=["아침", "오후", "저녁", "밤", "오전"])


def predict_gap(model, text):
    (fill,) = model.fill_mask(text)
    return {candidate.token: candidate.probability for candidate in fill.candidates}


rows, p_time = [], {}
for snapshot in find_snapshots(run):
    guesses = predict_gap(bertlab.load(snapshot.path), sentence)
    p_time[snapshot.step] = sum(guesses.get(word, 0) for word in times)
    rows.append((snapshot.step, " ".join(f"{token} {p:.1%}" for token, p in list(guesses.items())[:4])))
show_table(pick(en=("step", "best candidates"), ko=("스텝", "1순위부터 4순위까지")), rows)

(track,) = timeline(run, sentence).tracks  # what the app's time machine draws
assert np.isclose(track.probs_SW[-1].max(), max(guesses.values()), atol=1e-2)
assert p_time[0] < 0.02 and p_time[100] < 0.15 and p_time[result.steps] > 0.6
# %% [markdown] en
# First everything is equally improbable. Then the most frequent tokens of the language fill every gap: cheap, and right now
# and then. Only then does the model look at the neighbours, and the gap gets words of the right kind. The page
# [Time machine](app:time-machine) of the app scrubs through a run like a film, with attention; a full run of this lesson appears
# there as `lesson-6-en`.
#
# ## Beside a larger one
#
# *scratch* is a checkpoint of bertlab with four layers. It read English Wikipedia and novels, many times as many tokens. Two
# tests: held-out stories, and ten everyday sentences with one gap each. Accuracies of different vocabularies cannot be compared,
# because one splits words into more pieces. **Bits per character** can: the loss of the masked tokens, in bits, spread over the characters of the text.
#
# **Predict.** Who wins each test, and is it close?
# %% [markdown] ko
# 처음에는 모든 토큰의 확률이 비슷하게 낮아요. 다음에는 가장 자주 나오는 토큰을 모든 빈칸에 넣어요. 쉽고, 가끔은 맞거든요. 그다음에야 이웃을 보고
# 어울리는 종류의 말을 넣어요. 앱의 [타임머신](app:time-machine) 화면에서는 어텐션까지 영화처럼 돌려 볼 수 있어요. 이 수업을 `FAST` 없이 실행하면
# 거기에 `lesson-6-ko`로 나와요.
#
# ## 더 큰 모델과 비교
#
# *korean*은 bertlab에 들어 있는 레이어 네 개짜리 체크포인트예요. 한국어 위키백과로 학습했고, 읽은 토큰이 훨씬 많아요. 두 가지로 견줘 봐요.
# 검증용 이야기, 그리고 빈칸이 하나씩 있는 일상 문장 열 개예요. 어휘 집합이 다르면 단어를 나누는 조각의 수가 달라서 정확도를 비교할 수 없어요.
# **글자당 비트 수**는 비교할 수 있어요. 마스크 토큰의 손실을 비트로 바꿔 텍스트의 글자 수로 나눈 값이에요.
#
# **예상해 보세요.** 두 시험에서 각각 누가 이길까요? 차이는 클까요?
# %% predict
other_name = pick(en="scratch", ko="korean")
other = bertlab.load(other_name)
clozes = read_clozes(language())


def count_right(model):
    return sum(next(iter(predict_gap(model, cloze.text))) in cloze.fits for cloze in clozes)


with quiet():
    texts = next(Path(f"{world}-stories").glob("*heldout*"))
    bertlab.prepare(texts, out=held_out, tokenizer=other_name, workers=1)  # the same stories, in the other vocabulary
    bits = {
        name: bertlab.evaluate("pretraining", checkpoint, data=data, limit=128).metrics["bits_per_character"]
        for name, checkpoint, data in (("mine", result.checkpoint, f"{world}-heldout"), (other_name, other_name, held_out))
    }
right = {"mine": count_right(session), other_name: count_right(other)}
tokens = {"mine": result.tokens, other_name: read_record(other_name)["tokens"]}
names = {"mine": pick(en="mine", ko="내 모델"), other_name: other_name}
show_table(
    pick(
        en=("", "tokens read", "bits per character, stories", "right, everyday sentences"),
        ko=("", "읽은 토큰", "글자당 비트 수(이야기)", "맞힌 일상 문장"),
    ),
    [
        (names[name], f"{tokens[name] / 1e6:.1f} M", f"{bits[name]:.2f}", f"{right[name]} / {len(clozes)}")
        for name in bits
    ],
)
assert tokens[other_name] > 10 * tokens["mine"]
assert bits["mine"] < (1.25 if is_fast() else 1) * bits[other_name] and right["mine"] + 2 <= right[other_name]
# %% [markdown] en
# On its own stories, a model of minutes is close to the larger one, or better after a full run: it had to learn only one small world. Outside that
# world it knows almost nothing. What a BERT knows is what it read.
#
# ## Exercise 1
#
# How often did the model read each story, on average? (With `FAST=1`, it is less than once.) Use `result.tokens` and `corpus.tokens`.
# %% [markdown] ko
# 자기 이야기에서는 몇 분 만에 만든 모델이 더 큰 모델과 비슷하고, 끝까지 학습하면 더 나아요. 작은 세계 하나만 배우면 되니까요. 그 세계 밖에서는 거의
# 아무것도 몰라요. BERT가 아는 것은 읽은 것이에요.
#
# ## 연습 1
#
# 모델은 이야기 하나를 평균 몇 번 읽었을까요? (`FAST=1`이면 한 번이 안 돼요.) `result.tokens`와 `corpus.tokens`를 쓰세요.
# %% exercise 1
times_read = ...
# %% check 1
check(
    1, times_read,
    (lambda a: float(a) > 0, pick(en="The answer must be a positive number.", ko="답은 0보다 큰 수여야 해요.")),
    (lambda a: not np.isclose(float(a), corpus.tokens / result.tokens, rtol=0.02), pick(
        en="It is the other way round: a longer run reads each story more often.", ko="거꾸로예요. 오래 학습할수록 이야기를 더 여러 번 읽어요.")),
    (lambda a: np.isclose(float(a), result.tokens / corpus.tokens, rtol=0.05), pick(
        en="Compare the tokens that were read with the tokens that there are.", ko="읽은 토큰의 수와 있는 토큰의 수를 비교하세요.")),
)
# %% solution 1
times_read = result.tokens / corpus.tokens
print(f"{times_read:.2f}")
# %% [markdown] en
# ## Exercise 2
#
# At step 100, the model seems to have learned something. How good is a "model" that gives the same answer for every gap: the most
# frequent token of the stories? Compute its accuracy on the texts in `stories`, with `session.tokenizer.encode(text).ids` (leave out
# the special tokens `[CLS]` and `[SEP]` at the ends), and compare it with `mlm[100]`.
# %% [markdown] ko
# ## 연습 2
#
# 100스텝의 모델은 무언가 배운 것처럼 보여요. 모든 빈칸에 똑같은 답, 곧 이야기에서 가장 자주 나오는 토큰을 내는 "모델"은 얼마나 맞힐까요?
# `stories`의 텍스트에서 정확도를 계산해 `mlm[100]`과 비교하세요. `session.tokenizer.encode(text).ids`를 쓰세요(양 끝의 특수 토큰 `[CLS]`와
# `[SEP]`는 빼요).
# %% exercise 2
constant_accuracy = ...
# %% check 2
counted = Counter(token for text in stories for token in list(session.tokenizer.encode(text).ids)[1:-1])
most_frequent, most = counted.most_common(1)[0]
check(
    2, constant_accuracy,
    (lambda a: 0 < float(a) < 1, pick(en="An accuracy as a number between 0 and 1 is needed.", ko="정확도를 0과 1 사이의 수로 구하세요.")),
    (lambda a: float(a) < 0.5, pick(
        en="No token is that frequent. Divide by the number of all tokens.", ko="그렇게 자주 나오는 토큰은 없어요. 전체 토큰 수로 나누세요.")),
    (lambda a: float(a) > 2 * counted.most_common(2000)[-1][1] / counted.total(), pick(
        en="This is the share of a rare token.", ko="그건 드문 토큰의 비율이에요.")),
    (lambda a: abs(float(a) - most / counted.total()) < 0.004, pick(
        en="Count every token of every story with a `Counter`. `most_common(1)` gives the most frequent token and its number.",
        ko="모든 이야기의 모든 토큰을 `Counter`로 세세요. `most_common(1)`은 가장 자주 나오는 토큰과 그 개수를 돌려줘요.")),
)
# %% solution 2
counts = Counter(token for text in stories for token in list(session.tokenizer.encode(text).ids)[1:-1])
token, number = counts.most_common(1)[0]
constant_accuracy = number / counts.total()
print(session.tokenizer.tokens([token]), f"{constant_accuracy:.1%}", f"{mlm[100]:.1%}")
assert 0.5 < mlm[100] / constant_accuracy < 2  # the plateau: the model had learned little more than that
# %% [markdown] en
# ## Exercise 3
#
# Write a sentence with one `[MASK]` in the manner of the stories, of which your model is more certain than the larger one: its best
# candidate gets at least 30 %, and at least twice the probability that `other` gives to the same token.
# %% [markdown] ko
# ## 연습 3
#
# 이야기를 흉내 내어 `[MASK]`가 하나 있는 문장을 쓰세요. 내 모델이 더 큰 모델보다 확신해야 해요. 내 모델의 1순위가 30% 이상이고, `other`가 같은
# 토큰에 준 확률의 두 배 이상이어야 해요.
# %% exercise 3
story_sentence = ...
# %% check 3
check(
    3, story_sentence,
    (lambda a: isinstance(a, str) and a.count("[MASK]") == 1 and len(a.split()) >= 4, pick(
        en="The answer must be a sentence of at least four words with exactly one [MASK].", ko="답은 [MASK]가 정확히 하나 있고 네 어절 이상인 문장이어야 해요.")),
    (lambda a: a != sentence, pick(en="This one is from the lesson.", ko="수업에 나온 문장이에요.")),
    (lambda a: max(predict_gap(session, a).values()) >= 0.3, pick(
        en="Your model is not certain enough. Take a sentence from `stories`: what stands in almost every story?",
        ko="내 모델이 충분히 확신하지 않아요. `stories`의 문장을 써 보세요. 거의 모든 이야기에 나오는 것은 무엇일까요?")),
    (lambda a: 2 * predict_gap(other, a).get(next(iter(predict_gap(session, a))), 0) <= max(predict_gap(session, a).values()), pick(
        en="The larger model knows this too. Hide what only these stories say like this.", ko="더 큰 모델도 알아요. 이 이야기들에서만 그렇게 말하는 것을 가려 보세요.")),
)
# %% solution 3
story_sentence = pick(
    en="It was Monday [MASK] when Dora came to the farm.", ko="비 오는 화요일 [MASK], 수빈은 평소보다 일찍 시식실에 도착했다."
)
print(predict_gap(session, story_sentence))
