"""The library's refusals in Korean: it says them in English, one line each; here is that line for a Korean reader.

A row is the English line as the library builds it, with {} for what it puts in, and the Korean one with {0}, {1} ...
for the same. What is put in may be a refusal, or one of `WORDS`, itself. `tests/test_language.py` collects every
refusal that the window can reach and finds those without a row. Knows no page and no model.
"""

import re
from functools import cache

WORDS = {
    "layer": "층",
    "head": "헤드",
    "position": "위치",
    "question": "질문",
    "passage": "글",
    "attention row": "어텐션 줄",
    "hidden state": "은닉 상태",
    "next-sentence": "다음 문장",
    " in the other text": "(다른 글)",
    "masked-word (MLM)": "빈칸 채우기(MLM)",
    "next-sentence (NSP)": "다음 문장(NSP)",
    "question-answering (span)": "질문과 답(span)",
    "classification": "분류",
    "regression": "회귀",
    "multiple-choice": "여럿 중 고르기",
    "tagging": "꼬리표 달기",
    "continue its pre-training with `bertlab pretrain --from ...` to get one": (
        "`bertlab pretrain --from ...`으로 사전 학습을 이어 하면 생깁니다"
    ),
    "the pasted table": "붙여 넣은 표",
    "No such file or directory": "그런 파일이나 폴더가 없습니다",
    "Permission denied": "읽거나 쓸 권한이 없습니다",
}

REFUSALS = {
    # texts
    "the text is empty: type some words": "글이 비어 있습니다. 몇 낱말을 적어 보세요.",
    "the {} is empty: type a {}": "{0}: 비어 있습니다. 적어 보세요.",
    "the text has {} tokens, the model reads at most {}: shorten it": (
        "글이 토큰 {0}개인데 이 모델은 {1}개까지만 읽습니다. 글을 줄여 보세요."
    ),
    "{} tokens are too many: this model has {} positions": "토큰 {0}개는 너무 많습니다. 이 모델의 위치는 {1}개입니다.",
    "there is no [MASK]: write [MASK] in place of the word to guess": (
        "[MASK]가 없습니다. 맞힐 낱말 자리에 [MASK]라고 적으세요."
    ),
    "there is no [MASK] {}: they go from 0 to {}": "[MASK] {0}번은 없습니다. 0번부터 {1}번까지 있습니다.",
    "{} reads two texts: give a second one": "이 예측({0})에는 글이 둘 필요합니다. 둘째 글을 적으세요.",
    "there is no prediction called {}: it is one of {}": "{0}이라는 예측은 없습니다. 고를 수 있는 것: {1}.",
    "there is nothing to choose from: give at least two texts": "고를 것이 없습니다. 글을 둘 이상 적으세요.",
    "embed takes several texts: put a single one in a list": "embed는 글 여럿을 받습니다. 하나라도 목록에 넣으세요.",
    "{} is {}; it must be at least 1": "{0} 값이 {1}입니다. 1 이상이어야 합니다.",
    "stride ({}) and max_question ({}) must be at least 1": "stride({0})와 max_question({1})은 1 이상이어야 합니다.",
    "a window of {} tokens has no room for a passage beside a question of {}: raise max_tokens or lower max_question": (
        "토큰 {0}개짜리 창에 {1}개짜리 질문을 넣으면 글이 들어갈 자리가 없습니다. max_tokens를 늘리거나 "
        "max_question을 줄이세요."
    ),
    # layers, heads and changes
    # comparing
    # snapshots
    # checkpoints
    "there is no directory {}": "{0}: 그런 폴더가 없습니다.",
    "{} cannot be written: {}": "{0}: 쓸 수 없습니다. {1}",
    "{} cannot be read: {}": "{0}: 읽을 수 없습니다. {1}",
    "cannot read {}: {}": "{0}: 읽을 수 없습니다. {1}",
    "{} is damaged: {}": "{0}: 손상되었습니다. {1}",
    # configurations
    # vocabularies
    "row {} is not a SQuAD row: {}": "{0}번 줄은 SQuAD 형식이 아닙니다. {1}",
    "this checkpoint reads from left to right and guesses the next word: it fills no masks": (
        "이 체크포인트는 왼쪽에서 오른쪽으로 읽으며 다음 낱말을 맞힙니다. 빈칸은 채우지 못합니다."
    ),
    # labelled rows
    "{} is left out, {}": "{0}은(는) 빼 두었습니다. {1}",
    "no task is called {}; there are {}, and `own` for your own data": "{0}이라는 과제는 없습니다. 있는 것: {1}, own.",
    "every row of {} has the label {}: there is nothing to learn": "{0}의 모든 행이 {1}이라 배울 것이 없습니다.",
    "{} has no labels to learn from": "{0}에는 배울 정답이 없습니다.",
    "{} has no labels, so nothing can be measured on it": "{0}에는 정답이 없어 잴 수 없습니다.",
    "none of the {} rows of {} can be used": "{1}의 {0}행 가운데 쓸 수 있는 것이 없습니다.",
    "none of the {} rows of {} can be used; the first: {}": "{1}의 {0}행 가운데 쓸 수 있는 것이 없습니다. 첫째: {2}",
    "{}: row {} {}": "{0}: {1}행 {2}",
    "{} has {} different values in {} for {} rows: are these labels? For numbers use --kind regress": (
        "{0}의 {2} 열에 서로 다른 값이 {1}개인데 행은 {3}개입니다. 분류가 맞나요? 수라면 --kind regress를 쓰세요."
    ),
    "has the unknown label {}; known are {}": "모르는 정답 {0}이 있습니다. 아는 것: {1}",
    "has nothing in {}": "{0} 열이 비어 있습니다.",
    "has no text in {} but a {}": "{0} 열에 글이 아니라 {1}이(가) 있습니다.",
    "has fewer than two choices": "고를 것이 둘보다 적습니다.",
    "has no tokens in {}": "{0} 열에 낱말이 없습니다.",
    "has {} where a number should be": "수가 있어야 할 곳에 {0}이(가) 있습니다.",
    "has the label {}; its choices are numbered 0 to {}": "정답이 {0}인데 고를 것의 번호는 0에서 {1}까지입니다.",
    "has {} tags for {} tokens": "낱말 {1}개에 꼬리표가 {0}개입니다.",
    "has an empty tag for {}": "{0}의 꼬리표가 비어 있습니다.",
    "{} has only {} rows: name the held-out ones with --validation": (
        "{0}에는 {1}행뿐입니다. 따로 잴 것을 --validation으로 알려 주세요."
    ),
    "(id {}) {}": "(id {0}) {1}",
    "has no text in {}": "{0} 열에 글이 없습니다.",
    "has nothing but spaces in {}": "{0} 열에 빈칸뿐입니다.",
    "has no answers with text and answer_start": "text와 answer_start가 있는 답이 없습니다.",
    "needs as many answer starts as answers": "답의 수와 answer_start의 수가 다릅니다.",
    "has an answer that is no text": "글이 아닌 답이 있습니다.",
    "has an answer, {}, that is not at all in its passage": "답 {0}이(가) 글에 없습니다.",
    "has no list of texts in {}": "{0} 열에 글의 목록이 없습니다.",
    "is empty": "비어 있습니다.",
    "has {} choices, where the first row has {}": "고를 것이 {0}개인데 첫 행에는 {1}개입니다.",
    "repeats the id of row {}": "{0}행의 id가 되풀이됩니다.",
    "has no label in {}, where others have one": "다른 행에는 있는 {0} 열의 정답이 없습니다.",
    "{} tokens leave no room for a text": "토큰 {0}개로는 글이 들어갈 자리가 없습니다.",
    "no way to compare answers in {} is known: {}": "{0} 언어의 답은 견줄 수 없습니다. 되는 것: {1}",
    "no question of {} has an answer, so nothing can be measured on it": (
        "{0}의 질문에는 답이 하나도 없어 잴 수 없습니다."
    ),
    "{} holds no questions": "{0}에는 질문이 하나도 없습니다.",
    "{} holds no scores: expected {}": "{0}에는 점수가 없습니다. 있어야 할 것: {1}",
    "{} holds no predictions: expected {}, or rows with id and prediction_text": (
        "{0}에는 예측이 없습니다. {1}이나, id와 prediction_text가 있는 행이어야 합니다."
    ),
    "{} is not a SQuAD file: {} has no {}": "{0}은(는) SQuAD 파일이 아닙니다: {1}에 {2}가 없습니다.",
    "{} is not a SQuAD file: {} has another shape": "{0}은(는) SQuAD 파일이 아닙니다: {1}의 모양이 다릅니다.",
    "the checkpoint tells apart {}; this task also has {}: it was fine-tuned for another task": (
        "이 체크포인트는 {0}을(를) 가리는데 이 과제에는 {1}도 있습니다. 다른 과제에 미세 조정한 것입니다."
    ),
    "{}: the prediction for {} is {}; ids and answers must be texts": (
        "{0}: {1}의 예측이 {2}입니다. id와 답은 글이어야 합니다."
    ),
    "{}: {} is predicted twice": "{0}: {1}의 예측이 두 번 있습니다.",
    # tables of rows
    "there is no file {}": "{0}이라는 파일이 없습니다.",
}


def korean(line: str) -> str:
    """A refusal in Korean; one that the table does not know stays as it is.

    >>> korean("the text has 70 tokens, the model reads at most 64: shorten it")
    '글이 토큰 70개인데 이 모델은 64개까지만 읽습니다. 글을 줄여 보세요.'
    """
    if line in WORDS:
        return WORDS[line]
    for pattern, translation in _patterns():
        if found := pattern.fullmatch(line):
            return translation.format(*map(korean, found.groups()))
    return line


@cache
def _patterns() -> list[tuple[re.Pattern, str]]:
    """The rows as regular expressions, those that say most by themselves first."""
    rows = sorted(REFUSALS.items(), key=lambda row: -len(row[0].replace("{}", "")))
    return [
        (re.compile("(.*?)".join(map(re.escape, line.split("{}"))), re.DOTALL), translation)
        for line, translation in rows
    ]
