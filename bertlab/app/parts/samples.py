"""Rows to try an evaluation with, written for this window, in the columns that a task has. Knows no page."""

import csv
import io
import json
from collections.abc import Sequence

from bertlab.config.tasks import TaskSpec
from bertlab.tasks.registry import TASK_TYPES

_TEXTS = {
    "en": {
        "classify": (("A small wonder from the first scene to the last.", 1), ("Two hours that feel like four.", 0),
                     ("Not bad at all, and at times very funny.", 1), ("It begins well and then forgets why.", 0)),
        "second": "The film lasts two hours.",
        "alike": (("A man is playing the guitar on a bench.", "A man sits on a bench and plays the guitar.", 5.0),
                  ("Two dogs are running across the snow.", "Two dogs run through deep snow.", 4.2),
                  ("A woman is slicing an onion.", "A woman is peeling a potato.", 2.0),
                  ("The children are playing football in the park.", "Some children are sitting in a park.", 1.6),
                  ("A boat is crossing the lake.", "The bank raised its interest rates.", 0.0)),
        "tag": (("Clara Schumann played in Vienna .", "PER PER - - LOC -"),
                ("The ferry leaves for Oslo at six .", "- - - - LOC - - -"),
                ("Nobody asked Mr. Grieg about Bergen .", "- - - PER - LOC -")),
        "choose": ("The kettle boiled over.", "So he turned the stove down.", "So he bought a bicycle."),
        "span": ("The mill by the river was built in 1874 by two brothers, and burnt down thirty years later.",
                 (("When was the mill built?", "1874"), ("Who built the mill?", "two brothers"),
                  ("What colour was its door?", None))),
    },
    "ko": {
        "classify": (("처음부터 끝까지 눈을 뗄 수 없었어요.", 1), ("두 시간이 네 시간 같았다.", 0),
                     ("기대 안 했는데 꽤 웃겼습니다.", 1), ("시작만 좋고 뒤로 갈수록 지루함", 0)),
        "second": "영화는 두 시간이다.",
        "alike": (("한 남자가 벤치에 앉아 기타를 치고 있다.", "벤치에 앉은 남자가 기타를 연주한다.", 5.0),
                  ("개 두 마리가 눈밭을 달리고 있다.", "개 두 마리가 깊은 눈 속을 달린다.", 4.2),
                  ("한 여자가 양파를 썰고 있다.", "한 여자가 감자를 깎고 있다.", 2.0),
                  ("아이들이 공원에서 축구를 하고 있다.", "아이들 몇 명이 공원에 앉아 있다.", 1.6),
                  ("배 한 척이 호수를 건너고 있다.", "은행이 금리를 올렸다.", 0.0)),
        "tag": (("김소월 은 평양 에서 공부했다 .", "PER - LOC - - -"), ("기차 는 부산 으로 떠난다 .", "- - LOC - - -")),
        "choose": ("주전자가 끓어 넘쳤다.", "그래서 불을 줄였다.", "그래서 자전거를 샀다."),
        "span": ("강가의 방앗간은 1874년에 두 형제가 지었고, 삼십 년 뒤에 불에 탔다.",
                 (("방앗간은 언제 지었나?", "1874년"), ("방앗간은 누가 지었나?", "두 형제"),
                  ("문은 무슨 색이었나?", None))),
    },
}  # fmt: skip


def sample(spec: TaskSpec, labels: Sequence[str], language: str) -> str:
    """A few labelled rows as CSV, JSON lines or, for questions, SQuAD's JSON.

    Args:
        spec: the task, whose columns they have.
        labels: the labels of the checkpoint; only these occur.
        language: of the texts.

    >>> from bertlab.config.tasks import TASKS
    >>> print(sample(TASKS["sst2"], ("negative", "positive"), "en").splitlines()[1])
    A small wonder from the first scene to the last.,positive
    """
    return _SAMPLES.get(TASK_TYPES[spec.kind].name, _classification)(spec, labels, _TEXTS.get(language, _TEXTS["en"]))


def _classification(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    text, *rest = spec.text or ("text",)
    values = (labels[0], labels[-1]) if labels else (1.0, 4.0)
    second = {rest[0]: texts["second"]} if rest else {}
    return _csv([{text: one} | second | {spec.label[0]: values[good]} for one, good in texts["classify"]])


def _regression(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    if len(spec.text) != 2:
        return _classification(spec, labels, texts)
    return _csv([dict(zip((*spec.text, spec.label[0]), row, strict=True)) for row in texts["alike"]])


def _multiple_choice(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    text, *rest = spec.text or ("text",)
    context, *choices = texts["choose"]
    row = {text: context} | ({spec.start: ""} if spec.start else {})
    if len(rest) > 1:
        row |= dict(zip(rest, [*choices, *choices[:1] * (len(rest) - len(choices))], strict=True))
    else:
        row[rest[0] if rest else "choices"] = choices
    return json.dumps(row | {spec.label[0]: 0}, ensure_ascii=False)


def _tagging(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    column = spec.text[0] if spec.text else "tokens"
    return _csv(
        [{column: tokens, spec.label[0]: " ".join(_tags(tags.split(), labels))} for tokens, tags in texts["tag"]]
    )


def _span(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    return _questions(*texts["span"])


# a type without a row has the rows of a classification
_SAMPLES = {"regression": _regression, "multiple_choice": _multiple_choice, "tagging": _tagging, "span": _span}


def _csv(table: Sequence[dict]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return file.getvalue()


def _tags(kinds: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Kinds of entities as a checkpoint's own tags; what it does not know is outside."""
    outside = "O" if "O" in labels else labels[0]
    before, tags = "-", []
    for kind in kinds:
        tag = f"{'I' if kind == before else 'B'}-{kind}"
        tags.append(tag if tag in labels else outside)
        before = kind
    return tags


def _questions(context: str, asked: Sequence[tuple[str, str | None]]) -> str:
    questions = [
        {"id": str(number), "question": question,
         "answers": [{"text": answer, "answer_start": context.index(answer)}] if answer else []}
        for number, (question, answer) in enumerate(asked, 1)
    ]  # fmt: skip
    return json.dumps(
        {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}, ensure_ascii=False, indent=1
    )
