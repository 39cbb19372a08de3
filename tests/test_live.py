"""The page that runs a model in the browser: in a real Chromium, opened from disk, with the network off.

The model and the tokenizer in JavaScript are compared with those in Python, on the same weights in eight bits.
"""

import base64
import json
import random
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.hard_strings import HARD_STRINGS
from support.texts import text
from tokenizers import Tokenizer as Backend

import bertlab
from bertlab.abilities.encode import make_batch_of_one
from bertlab.abilities.live import export as live
from bertlab.abilities.live.lessons import collect_lessons, find_view
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.int8 import pack_tensors, quantise_rows, round_weights
from bertlab.classroom.lesson import find_lessons, read_lesson
from bertlab.cli.dispatch import main
from bertlab.config.errors import CheckpointError
from bertlab.nn.fast.model import FastBert
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.session import Session
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.views.numbers import percent

TOLERANCE = 1e-3
SHIPPED = {"scratch", "korean"} <= bertlab.find_shipped_checkpoints().keys()
needs_shipped = pytest.mark.skipif(not SHIPPED, reason="needs the shipped checkpoints scratch and korean")

# Calls the worker and returns all numbers of the answers as base64, which is much smaller than JSON.
TRACE = """async (inputs) => {
  const encode = async (arrays) => { // a data URL is the fastest way to base64
    const reader = new FileReader();
    await new Promise((resolve) => {
      reader.onload = resolve;
      reader.readAsDataURL(new Blob(arrays.map((array) => Float32Array.from(array))));
    });
    return reader.result.split(",")[1] ?? "";
  };
  const answers = await bertlab.ask("trace", { inputs });
  return Promise.all(answers.map(async ({ ids, hidden, probs, masks, next }) =>
    [ids, ...await Promise.all([hidden, probs, masks, [next]].map(encode))]));
}"""
TOKENIZE = "(texts) => bertlab.ask('tokenize', { texts })"


@pytest.fixture
def visit(chromium, tmp_path):
    """A function that opens the page of a checkpoint from disk; a request or an error on the page fails the test."""
    contexts, problems = [], []

    def open_page(session, *, fragment="", width=1280, scheme="light", locale="en-US", init="", change=None):
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(init)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: message.type == "error" and problems.append(message.text))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        file = tmp_path / f"live{len(contexts)}.html"
        live.write_live_page(session, file)
        if change:
            file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
        page.goto(file.as_uri() + fragment)
        if change:
            return page
        until(page, "globalThis.bertlab?.page.isLoaded")
        page.evaluate("bertlab.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems


@pytest.fixture(scope="module")
def tiny(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


def until(page, expression, seconds=20):
    """Wait for an expression to be true; wait_for_function would need eval, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"still not: {expression}"
        page.wait_for_timeout(20)


def english_inputs():
    """A hundred inputs: single sentences, some with [MASK], and pairs."""
    subjects = ["The old [MASK]", "A young doctor", "Nobody", "The keeper's dog", "My sister's friend",
                "The river Éire", "The third train", "An engineer", "Their teacher", "The wind"]  # fmt: skip
    verbs = ["walked to the [MASK].", "saw 1,250 birds, and smiled!", "did not believe the story", "opened a window.",
             "sang because it was warm.", "wrote a letter (twice).", "left the house at noon.", "fell down the stairs.",
             "asked for a cup of tea.", "was unbelievably slow."]  # fmt: skip
    return [
        (f"{subject} {verb}", "Then it began to rain." if (i + j) % 3 == 0 else None)
        for i, subject in enumerate(subjects)
        for j, verb in enumerate(verbs)
    ]


def korean_inputs():
    subjects = ["늙은 [MASK]은", "젊은 의사는", "아무도", "등대지기의 개는", "내 동생의 친구는", "강바람이",
                "세 번째 기차는", "기술자는", "그들의 선생님은", "바람은"]  # fmt: skip
    verbs = ["[MASK]에 걸어갔다.", "새 1,250마리를 보고 웃었다!", "그 이야기를 믿지 않았다", "창문을 열었다.",
             "따뜻해서 노래를 불렀다.", "편지를 (두 번) 썼다.", "정오에 집을 떠났다.", "계단에서 넘어졌다.",
             "차 한 잔을 부탁했다.", "믿을 수 없이 느렸다."]  # fmt: skip
    return [
        (f"{subject} {verb}", "그러고 나서 비가 오기 시작했다." if (i + j) % 3 == 0 else None)
        for i, subject in enumerate(subjects)
        for j, verb in enumerate(verbs)
    ]


def trace_in_python(session, model, a, b, off):
    """The ids and, flat, the hidden states, the attention, and the probabilities of masked tokens and next sentence."""
    encoding = session.tokenizer.encode(a, b)
    trace = Trace.of("hidden", "probs")
    interventions = Interventions.ablate_heads(model.config, off) if off else None
    with torch.inference_mode():
        output = model(make_batch_of_one(encoding, torch.device("cpu")), trace=trace, interventions=interventions)
        masks = [t for t, id in enumerate(encoding.ids) if id == session.tokenizer.mask_id]
        tokens = model.mlm(output.hidden_BTH[0, masks])[:, : session.tokenizer.vocab_size].softmax(-1)
        follows = model.nsp(output.pooled_BH)[0].softmax(-1)
    parts = (torch.cat(trace["hidden"]), torch.cat(trace["probs"]), tokens, follows)
    return list(encoding.ids), [part.numpy().ravel() for part in parts]


def largest_differences(page, session, inputs):
    """The largest difference between JavaScript and Python for each of the four kinds of numbers."""
    model = round_weights(session.model)
    requests = [{"a": a, "b": b, "off": [f"{layer}.{head}" for layer, head in off]} for a, b, off in inputs]
    answers = page.evaluate(TRACE, requests)
    largest = np.zeros(4)
    for (a, b, off), (ids, *encoded) in zip(inputs, answers, strict=True):
        expected_ids, expected = trace_in_python(session, model, a, b, off)
        assert ids == expected_ids, a
        arrays = [np.frombuffer(base64.b64decode(part), "<f4") for part in encoded]
        assert [array.shape for array in arrays] == [array.shape for array in expected], a
        differences = [np.abs(x - y).max(initial=0) for x, y in zip(arrays, expected, strict=True)]
        largest = np.maximum(largest, differences)
    return largest


@needs_shipped
@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("scratch", english_inputs()[::4]),
        pytest.param("scratch", english_inputs(), marks=pytest.mark.release),
        pytest.param("korean", korean_inputs(), marks=pytest.mark.release),
    ],
)
def test_a_hundred_inputs_give_the_numbers_of_python(visit, name, inputs):
    session = bertlab.load(name)
    # every fifth input is computed with some heads switched off
    inputs = [(a, b, [(0, 1), (2, 3), (3, 0)] if i % 5 == 0 else []) for i, (a, b) in enumerate(inputs)]
    page = visit(session)
    largest = largest_differences(page, session, inputs)
    print("largest differences: hidden, attention, masked tokens, next sentence", largest)
    assert (largest < TOLERANCE).all()
    # the effect of a single head is computed in a shorter way
    masked = next(a for a, b, _ in inputs if "[MASK]" in a)
    page.evaluate("(a) => { location.hash = new URLSearchParams({ tab: 'heads', a }) }", masked)
    count = session.config.num_layers * session.config.num_heads
    until(page, f"bertlab.page.view.effects?.size === {count}")
    effects = dict(page.evaluate("[...bertlab.page.view.effects].map(([name, { after }]) => [name, after])"))
    rounded = Session(replace(session.loaded, model=round_weights(session.model)))
    changes = []
    for head in ("0.1", "2.3", f"{session.config.num_layers - 1}.0"):
        outcomes = rounded.intervene("masked_lm", masked, changes=head).outcomes
        winner = max(outcomes, key=lambda outcome: outcome.before)
        assert effects[head] == pytest.approx(winner.after, abs=TOLERANCE)
        changes.append(abs(winner.before - winner.after))
    assert max(changes) > 5 * TOLERANCE, "no head makes a difference, so this tests nothing"


@pytest.mark.browser
def test_an_approximate_gelu_and_switched_off_heads_give_the_numbers_of_python(visit, tiny, tmp_path):
    model = FastBert(tiny.config.replace(activation="gelu_new"), tiny.heads).eval()
    model.load_state_dict(tiny.model.state_dict())
    path = checkpoint.save(tmp_path / "tanh", model, tiny.tokenizer, {}, dtype=torch.float32)
    session = bertlab.load(path)
    inputs = [("green tea", None, []), ("green [MASK]", "tea", [(0, 0), (1, 1)]), ("green [MASK]", "tea", [])]
    page = visit(session)
    assert (largest_differences(page, session, inputs) < TOLERANCE).all()
    # the test could not fail if a switched-off head changed nothing
    ids, with_heads, without = (
        page.evaluate(TRACE, [{"a": "green tea", "b": None, "off": off}])[0][1] for off in ([], [], ["0.0"])
    )
    assert with_heads != without
    assert ids == with_heads


@pytest.mark.browser
def test_a_left_to_right_model_gives_the_attention_of_python(visit, tiny, tmp_path):
    model = FastBert(tiny.config.replace(left_to_right=True), tiny.heads).eval()
    model.load_state_dict(tiny.model.state_dict())
    session = bertlab.load(checkpoint.save(tmp_path / "causal", model, tiny.tokenizer, {}, dtype=torch.float32))
    assert live.plan_page(session) == live.LivePage(("attention",), "live-note-left-to-right")
    page = visit(session)
    assert page.locator("[role=tab]").count() == 1
    ((_, _, encoded, *_),) = page.evaluate(TRACE, [{"a": "green tea", "b": "a bowl", "off": []}])
    rounded = Session(replace(session.loaded, model=round_weights(session.model)))
    probs_LNTT = rounded.attention("green tea", "a bowl").probs_LNTT
    shown = np.frombuffer(base64.b64decode(encoded), "<f4").reshape(probs_LNTT.shape)
    assert np.abs(shown - probs_LNTT).max() < TOLERANCE
    assert shown[..., 0, 1:].max() == 0


def random_strings(count):
    """Mixtures of letters of many scripts, marks, spaces and punctuation."""
    generator = random.Random(0)
    blocks = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xD80),
              (0x1100, 0x1200), (0x1E00, 0x2070), (0x2E80, 0x3200), (0x4E00, 0x4F00), (0xA960, 0xA980),
              (0xAC00, 0xAD00), (0xD7B0, 0xD800), (0xF900, 0xFA00), (0xFE00, 0xFFFF), (0x10330, 0x10350),
              (0x1D400, 0x1D450), (0x1F300, 0x1F650), (0x20000, 0x20100)]  # fmt: skip
    strings = []
    for _ in range(count):
        chosen = generator.sample(blocks, 3)
        strings.append(
            "".join(chr(generator.randrange(*generator.choice(chosen))) for _ in range(generator.randrange(1, 24)))
        )
    return strings


@needs_shipped
@pytest.mark.browser
def test_the_tokenizer_gives_the_tokens_of_the_library(visit):
    """For hard and for random strings, and for single characters between two letters: of large blocks only some."""
    large = (range(0x3400, 0xA000), range(0xAC00, 0xD7A4), range(0xE000, 0xF900), range(0x13000, 0x1B300),
             range(0x20000, sys.maxunicode + 1))  # fmt: skip
    codes = [code for code in range(sys.maxunicode + 1) if not any(code in block for block in large)]
    codes += [code for block in large for code in [*block[:3], *block[::211], *block[-3:]]]
    characters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"a{c}e " for c in characters[i : i + 1024]) for i in range(0, len(characters), 1024)]
    for name in ("scratch", "korean"):
        session = bertlab.load(name)
        page = visit(session)
        strings = HARD_STRINGS + random_strings(3000) + texts
        # a lone surrogate cannot be sent to the browser as such
        strings = [string for string in strings if not any(0xD800 <= ord(c) < 0xE000 for c in string)]
        answers = page.evaluate(TOKENIZE, strings)
        encodings = session.tokenizer.encode_segments(strings)
        for string, tokens, encoding in zip(strings, answers, encodings, strict=True):
            assert tokens == encoding.tokens, repr(string[:200])
        (broken,) = session.tokenizer.encode_segments(["tea\ud83cpot"])
        assert page.evaluate("() => bertlab.ask('tokenize', { texts: ['tea\\ud83cpot'] })") == [broken.tokens]


@pytest.mark.browser
def test_every_tab_answers_in_both_languages_and_a_link_restores_the_page(visit, tiny):
    page = visit(tiny)
    for tab in ("attention", "fill", "next", "heads", "lens"):
        page.locator(f"#tab-{tab}").click()
        until(page, "/ ms$/.test(document.querySelector('.status').textContent)")
        assert page.locator(".error").inner_text() == ""
        assert page.locator(".result").inner_text().strip()
    page.locator("#tab-heads").click()
    page.locator("#field-0").fill("green [MASK]")
    page.locator(".heads .head").first.click()
    until(page, "location.hash.includes('off=0.0') && location.hash.includes('green')")
    page.get_by_role("button", name="한국어").click()
    assert page.locator("#tab-heads").inner_text() == "헤드"
    again = visit(tiny, fragment=page.evaluate("location.hash"))
    assert again.locator("#field-0").input_value() == "green [MASK]"
    assert again.locator(".heads .head").first.get_attribute("aria-pressed") == "true"
    assert again.locator("#tab-heads").inner_text() == "헤드"
    again.locator("#tab-heads").focus()
    again.keyboard.press("ArrowRight")
    assert again.locator("[role=tab][aria-selected=true]").get_attribute("id") == "tab-lens"


@pytest.mark.browser
def test_the_page_shows_the_predictions_of_python(visit, tiny):
    rounded = Session(replace(tiny.loaded, model=round_weights(tiny.model)))
    page = visit(tiny, fragment="#tab=fill&a=green+[MASK]")
    best = rounded.fill_mask("green [MASK]", top_k=8)[0].candidates
    assert page.locator(".bars .label").all_inner_texts() == [candidate.token for candidate in best]
    follows = rounded.next_sentence("Green tea.", "A bowl.").probability
    page.evaluate("location.hash = '#tab=next&a=Green+tea.&b=A+bowl.'")
    until(page, f"document.querySelector('.bars .number')?.textContent === '{percent(follows)}'")
    lens = rounded.lens("green [MASK]")
    page.evaluate("location.hash = '#tab=lens&a=green+[MASK]'")
    until(page, "/ ms$/.test(document.querySelector('.status').textContent)")
    rows = page.locator(".lens tr").all()[1:]
    cells = [[cell.split("\n")[0] for cell in row.locator("td").all_inner_texts()] for row in rows]
    assert cells == [list(tokens) for tokens in lens.tokens_LT]
    change = rounded.intervene("masked_lm", "green [MASK]", changes="1.0")
    page.evaluate("location.hash = '#tab=heads&a=green+[MASK]&off=1.0'")
    until(page, "document.querySelectorAll('.outcomes tr').length > 1")
    shown = page.locator(".outcomes tr").nth(1)
    assert shown.locator("td").all_inner_texts()[:2] == [
        percent(change.outcomes[0].before), percent(change.outcomes[0].after)
    ]  # fmt: skip


@pytest.mark.browser
def test_a_word_is_hidden_and_shown_by_a_click(visit, tiny):
    page = visit(tiny, fragment="#tab=fill&a=Green+tea,+please.")
    assert page.locator(".error").inner_text() == text("live-error-no-mask")
    page.locator("#word-1").click()
    assert page.locator("#field-0").input_value() == "Green [MASK], please."
    until(page, "document.querySelectorAll('.bars li').length")
    page.locator("#word-1").click()
    assert page.locator("#field-0").input_value() == "Green tea, please."


@pytest.mark.browser
def test_a_bad_text_gets_one_line(visit, tiny):
    page = visit(tiny)
    page.locator("#field-0").fill(" ")
    expected = {" ": text("live-error-empty")}
    limit = tiny.config.max_positions
    expected["tea " * 600] = text("live-error-too-long").replace("{}", "TOKENS", 1).replace("{}", str(limit))
    for words, message in expected.items():
        page.locator("#field-0").fill(words)
        before, _, after = message.partition("TOKENS")
        until(page, f"document.querySelector('.error').textContent.startsWith({json.dumps(before)})")
        assert page.locator(".error").inner_text().endswith(after)
        assert not page.locator(".result").is_visible()
        assert page.locator(".error").bounding_box()["y"] < 600, "a long text does not push the line out of view"
    page.locator("#field-0").fill("<img src=x onerror=alert(1)> tea")
    until(page, "document.querySelector('.error').textContent === ''")
    hostile = visit(tiny, fragment="#tab=none&lang=xx&off=9.9,a&look={&a=<b>tea</b>")
    assert hostile.locator("#field-0").input_value() == "<b>tea</b>"


@pytest.mark.browser
def test_a_damaged_file_and_an_old_browser_get_one_line(visit, tiny):
    def cut_in_weights(page):
        return page[: page.rindex("bertlab.addWeights") - 1000]

    def cut_in_script(page):
        return page[: page.index("class Page")]

    def swap(page):  # two characters in the middle of the weights
        middle = (page.rindex("text/plain") + page.rindex("bertlab.addWeights")) // 2
        return page[:middle] + page[middle + 1] + page[middle] + page[middle + 2 :]

    for change in (cut_in_weights, swap):
        page = visit(tiny, change=change)
        until(page, f"document.querySelector('.error').textContent === {json.dumps(text('live-error-damaged'))}")
        page.locator("#tab-fill").click()
        assert page.locator(".error").inner_text() == text("live-error-damaged")
    page = visit(tiny, change=cut_in_script)
    assert not page.locator(".incomplete").first.is_visible(), "it would flash up while a complete file is read"
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    assert page.locator(".incomplete").all_inner_texts() == [text("live-incomplete", code) for code in ("en", "ko")]
    page = visit(tiny, init="delete globalThis.DecompressionStream", change=lambda page: page)
    until(page, f"document.querySelector('.error').textContent === {json.dumps(text('live-error-browser'))}")


@pytest.mark.browser
def test_a_browser_that_starts_no_worker_computes_in_the_page(visit, tiny):
    refused = "throw new DOMException('', 'SecurityError');"
    stopped = "setTimeout(() => this.onerror(new Event('error')));"
    for start in (refused, stopped):
        worker = f"globalThis.Worker = class {{ postMessage() {{}} constructor() {{ {start} }} }}"
        page = visit(tiny, init=worker, fragment="#tab=fill&a=green+[MASK]")
        assert page.evaluate("bertlab.model.isInPage")
        assert page.locator(".bars li").count() == 8


@pytest.mark.browser
def test_a_checkpoint_without_the_output_layers_shows_its_attention(visit, checkpoints):
    page = visit(bertlab.load(checkpoints / "bare"))
    assert page.locator("[role=tab]").all_inner_texts() == ["Attention"]
    assert page.locator(".note").inner_text() == text("live-note-encoder")
    assert page.locator("canvas").count()


@pytest.mark.browser
def test_the_page_fits_a_narrow_screen(visit, tiny):
    page = visit(tiny, width=390, locale="ko-KR")
    for tab in ("attention", "fill", "next", "heads", "lens"):
        page.locator(f"#tab-{tab}").click()
        until(page, "/ ms$/.test(document.querySelector('.status').textContent)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, tab


@pytest.mark.browser
def test_a_lesson_goes_with_the_views_and_asks_before_it_answers(visit, tiny):
    page = visit(tiny)
    page.locator("#lesson-attention").click()
    assert page.locator("#tab-fill").get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.keyboard.press("ArrowRight")
    assert page.locator("#field-0").input_value().startswith("The bird sang")
    # one's own guess comes first, and has to be valid
    page.locator("#lesson-guess").fill("101")
    page.keyboard.press("Enter")
    expected = text("live-lesson-guess-range").replace("{}", "0", 1).replace("{}", "100")
    assert page.locator(".lesson .error").inner_text() == expected
    assert "[CLS]" not in page.locator(".lesson").inner_text()
    page.locator("#lesson-guess").fill("8")
    page.keyboard.press("Enter")
    assert "Answer: 10" in page.locator(".answer").inner_text()
    # a reload keeps step and guess; the back button leads to the step before, and forward again
    page.reload()
    until(page, "globalThis.bertlab?.page.isLoaded")
    assert "Your guess: 8" in page.locator(".answer").inner_text()
    page.locator("#lesson-next").click()
    assert page.evaluate("JSON.stringify(bertlab.page.state.look)") == '{"layer":0,"heads":[2]}'
    assert page.locator(".lesson .choice").count() == 4
    page.go_back()
    until(page, "document.querySelector('.answer')")
    page.evaluate("location.hash = '#lesson=attention.7&lang=ko'")
    until(page, "document.querySelectorAll('.heads .head[aria-pressed=true]').length")
    off = page.locator(".heads .head[aria-pressed=true]").count()
    assert off == tiny.config.num_heads
    page.locator(".heads th button").first.click()
    assert page.locator(".heads .head[aria-pressed=true]").count() == 0
    until(page, "!location.hash.includes('off=')")
    assert text("live-lesson-language", "ko").split(":")[0] not in page.locator(".lesson").inner_text()
    # a step that the app alone can show, and one whose view would give the answer away; a change that is not yet in the
    # address does not undo the new address
    page.evaluate("bertlab.page.set({}); location.hash = '#lesson=masked-tokens.4'")
    until(page, f"document.querySelector('.lesson').textContent.includes({json.dumps(text('live-lesson-needs-app'))})")
    page.evaluate("location.hash = '#lesson=masked-tokens.2&tab=next'")
    until(page, "document.querySelector('#lesson-guess')")
    page.locator("#lesson-guess").fill("Rain")
    page.keyboard.press("Enter")
    assert page.locator("#tab-fill").get_attribute("aria-selected") == "true"
    page.locator("#lesson-leave").click()
    assert not page.locator(".lesson").count()
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator("#lesson-training").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_lesson_has_its_steps_in_the_file_and_no_notes_for_the_teacher(tiny):
    content = collect_lessons(tiny, live.plan_page(tiny).tabs)
    assert [lesson["name"] for lesson in content["lessons"]] == ["attention", "masked-tokens", "training"]
    pages = [step["view"] and step["view"]["tab"] for lesson in content["lessons"] for step in lesson["steps"]]
    assert set(pages) == {"attention", "fill", "next", "heads", "lens", None}
    titles = [step["title"] for lesson in content["lessons"] for step in lesson["steps"]]
    page = live.live_html(tiny)
    lessons = [read_lesson(files["en"], pages=None) for files in find_lessons().values()]
    for lesson in (lesson for lesson in lessons if not lesson.has_computed_values):
        for step in lesson.steps:
            assert step.notes[:30] not in page or not step.notes
            # without the app, a step without a view makes sense only if its question has an answer
            has_answer = step.question is not None and step.question.answer is not None
            is_shown = has_answer or step.page not in ("train-live", "training")
            assert (step.title in titles) == is_shown, step.title


def test_the_view_of_a_step_is_where_the_file_has_one(tiny):
    tabs = live.plan_page(tiny).tabs
    view, is_complete = find_view("fill-mask", {"text": "Green tea, please.", "mask": "1"}, tiny.config, tabs)
    assert view["texts"] == ["Green [MASK], please."]
    assert is_complete
    view, is_complete = find_view("heads", {"masked": "A [MASK]", "changes": "0.1,r0.0.1-u"}, tiny.config, tabs)
    assert not is_complete
    view, is_complete = find_view("attention", {"a": "tea", "look": "neuron", "layer": "1"}, tiny.config, tabs)
    assert view["look"] == {"layer": 1, "heads": [0]}
    assert not is_complete
    assert find_view("fill-mask", {"text": "tea"}, tiny.config, ("attention",)) == (None, False)


def test_the_command_writes_the_file_and_overwrites_none(tiny_checkpoint, tmp_path, capsys):
    path = tmp_path / "page.html"
    arguments = ["export-live", str(tiny_checkpoint), "--out", str(path)]
    assert main(arguments) == 0
    assert "MB" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(arguments) == 2
    assert main([*arguments, "--replace"]) == 0


def test_a_quantised_matrix_is_close_and_packs_into_one_byte_per_weight(tiny):
    weight_OI = torch.randn(6, 50)
    codes_OI, scale_O = quantise_rows(weight_OI)
    error_OI = np.abs(codes_OI * scale_O[:, None] - weight_OI.numpy())
    assert (error_OI <= scale_O[:, None] / 2 + 1e-7).all()
    table, block = pack_tensors(tiny.model)
    state = tiny.model.state_dict()
    matrices = [tensor for tensor in state.values() if tensor.ndim == 2]
    vectors = [tensor for tensor in state.values() if tensor.ndim == 1]
    assert table.keys() == state.keys()
    assert len(block) == sum(m.numel() + 4 * len(m) for m in matrices) + sum(4 * v.numel() for v in vectors)


def test_a_tokenizer_with_other_steps_is_an_error(tiny):
    description = tiny.tokenizer.describe()
    description["normalizer"] = {"type": "NFKC"}
    tokenizer = Tokenizer(Backend.from_str(json.dumps(description)))
    with pytest.raises(CheckpointError) as caught:
        live.describe_tokenizer(tokenizer, "other")
    assert caught.value.id == "live-tokenizer-unsupported"
