"""The words of the page *question answering*."""

STRINGS = {
    "question": ("Question answering", "질문과 답"),
    "question.title": ("Ask a passage", "글에 묻기"),
    "question.lead": (
        "BERT writes no answer. It points: here it starts, here it ends.",
        "BERT는 답을 쓰지 않습니다. 어디서 시작해 어디서 끝나는지 가리킵니다.",
    ),
    "question.question": ("Question", "질문"),
    "question.passage": ("Passage", "글"),
    "question.more": ("Answers it weighed", "저울질한 답"),
    "question.more.help": (
        "Score: how strongly the first piece says *start*, plus how strongly the last says *end* (two logits). "
        "Probability: a softmax over the twenty best answers and *no answer*.",
        "점수는 첫 조각의 시작 로짓과 끝 조각의 끝 로짓을 더한 값입니다. "
        "확률은 가장 나은 답 스무 개와 *답 없음*에 씌운 소프트맥스입니다.",
    ),
    "question.parts": ("Part {done} of {of} of the passage is read", "글의 {of}부분 가운데 {done}부분을 읽었습니다"),
    "question.reading": ("Reading the passage …", "글을 읽고 있습니다 …"),
    "question.best": ("answer", "답"),
    "question.word": ("word of the passage", "글 속의 낱말"),
    "question.long": (
        "Only the first {limit} pieces of the question are read.",
        "질문은 처음 {limit}조각까지만 읽습니다.",
    ),
    "question.doubt": (
        "“No answer” scores higher than this one. A SQuAD v1.1 model never learnt to refuse: there it is only a hint.",
        "‘답 없음’의 점수가 이 답보다 높습니다. SQuAD v1.1 모델은 거절하는 법을 배운 적이 없으니 그때는 참고만 하세요.",
    ),
    "question.answer": ("answer", "답"),
    "question.probability": ("probability", "확률"),
    "question.score": ("score", "점수"),
    "question.curves": ("Where it starts, where it ends", "시작하는 곳, 끝나는 곳"),
    "question.start": ("start", "시작"),
    "question.end": ("end", "끝"),
    "question.windows": (
        "The passage is longer than the model can read at once, so it was read in {count} overlapping windows; "
        "the answer is from window {best}.",
        "글이 한 번에 읽을 수 있는 길이를 넘어 겹치는 창 {count}개로 나누어 읽었습니다. 답은 {best}번째 창에 있습니다.",
    ),
    "question.whole": ("in full", "전체"),
    "question.refused": ("No answer", "답 없음"),
    "question.refused.score": (
        "BERT keeps silent: *no answer* scores {margin:+.2f} beside the best span, and the threshold is {tau:+.1f}.",
        "BERT는 답하지 않습니다. *답 없음*과 가장 나은 답의 점수 차({margin:+.2f})가 문턱값({tau:+.1f})을 넘었습니다.",
    ),
    "question.answered.score": (
        "*No answer* scores {margin:+.2f} beside it, and would be said above {tau:+.1f}.",
        "*답 없음*과 이 답의 점수 차는 {margin:+.2f}입니다. 문턱값({tau:+.1f})을 넘으면 답 없음이라고 합니다.",
    ),
    "question.otherwise": ("The best span, all the same:", "그래도 가장 나은 답:"),
    "tau": ("Threshold τ", "문턱값 τ"),
    "tau.help": (
        "BERT answers if *no answer* scores less than τ above the best span. Where the checkpoint was tuned on "
        "unanswerable questions, its own τ is set here at first.",
        "*답 없음*의 점수가 가장 나은 답보다 τ 넘게 높지 않으면 답합니다. 답 없는 질문으로 맞춘 체크포인트라면 그 "
        "τ에서 시작합니다.",
    ),
    "question.none": (
        "Chance that there is no answer, says BERT: {probability:.0%}.",
        "BERT가 본, 답이 없을 확률: {probability:.0%}.",
    ),
}
