"""The words of the page *start*."""

STRINGS = {
    "start": ("Start", "시작"),
    "start.title": ("BERT, opened up", "BERT, 속을 들여다보다"),
    "start.lead": (
        "A language model small enough to look inside. Type a sentence, change a word, and watch what it does.",
        "속을 들여다볼 수 있을 만큼 작은 언어 모델입니다. 문장을 쓰고, 낱말을 바꾸고, 무슨 일이 일어나는지 보세요.",
    ),
    "start.choose": ("Which BERT?", "어떤 BERT를 볼까요?"),
    "start.own": (
        "Your own, or anybody's: type its directory or its Hugging Face id into *Checkpoint*, in the sidebar.",
        "직접 만든 것이나 다른 사람의 것도 됩니다. 왼쪽 *체크포인트*에 폴더나 Hugging Face 이름을 적으세요.",
    ),
    "start.use": ("Look inside", "열어 보기"),
    "start.open": ("Chosen", "선택됨"),
    "start.arcs": (
        "The strongest looks of layer {layer}, in every one of its heads: a colour is a head, a thicker arc is more "
        "attention.",
        "층 {layer}의 모든 헤드에서 가장 강한 시선입니다. 색 하나가 헤드 하나이고, 굵을수록 어텐션이 큽니다.",
    ),
    "start.input": ("What BERT is given: numbered pieces.", "BERT가 받는 번호 붙은 조각을 봅니다."),
    "start.attention": ("See where each word looks, head by head.", "낱말마다 어디를 보는지 헤드별로 봅니다."),
    "start.fill-mask": ("Click a word away and see what BERT would say.", "낱말을 눌러 숨기고 BERT의 대답을 봅니다."),
    "start.next-sentence": ("Two sentences: does one follow the other?", "두 문장이 이어지는지 묻습니다."),
    "start.question": ("Ask a passage; the answer lights up in it.", "글에 물으면 답에 불이 들어옵니다."),
    "card.scratch": (
        "Began as random numbers and read until it knew some English.",
        "아무것도 모르는 난수에서 출발해 영어를 읽고 배웠습니다.",
    ),
    "card.strongest": (
        "A published small encoder that went on reading. The best at missing words.",
        "공개된 작은 인코더에 더 읽혔습니다. 빈칸을 가장 잘 채웁니다.",
    ),
    "card.squad": (
        "The strongest one, taught to find answers in a passage, or to say that there is none.",
        "가장 강한 모델에 글에서 답을 찾고, 없으면 없다고 말하도록 가르쳤습니다.",
    ),
    "card.korean": (
        "Began as random numbers and read Korean for two hours: grammar, set phrases, which sentence follows, "
        "little of the world.",
        "난수에서 출발해 한국어를 두 시간 동안 읽었습니다. 문법과 굳은 표현, 이어지는 문장은 알고 세상일은 거의 "
        "모릅니다.",
    ),
    "card.sst2": (
        "The strongest one, taught to tell praise from blame in film reviews.",
        "가장 강한 모델에 영화평이 칭찬인지 아닌지 가려내도록 가르쳤습니다.",
    ),
    "card.stsb": (
        "The strongest one, taught to score how alike two sentences are in meaning, from 0 to 5.",
        "가장 강한 모델에 두 문장의 뜻이 얼마나 비슷한지 0에서 5까지 매기도록 가르쳤습니다.",
    ),
    "card.nsmc": (
        "The Korean one, taught to tell praise from blame in film reviews.",
        "한국어 모델에 영화평이 칭찬인지 아닌지 가려내도록 가르쳤습니다.",
    ),
    "card.wikiann_en": (
        "The strongest one, taught to find people, places and organisations.",
        "가장 강한 모델에 사람, 장소, 단체의 이름을 찾도록 가르쳤습니다.",
    ),
    "figure.masked_accuracy": ("missing words right", "빈칸 정답"),
    "figure.nsp_accuracy": ("next sentence right", "다음 문장 정답"),
    "figure.f1": ("answers, F1", "답 찾기 F1"),
    "figure.exact_match": ("answers, exact", "답 찾기 일치"),
    "figure.accuracy": ("reviews right", "감상평 정답"),
    "figure.spearman": ("rank correlation × 100", "순위 상관 × 100"),
    "figure.entity_f1": ("names, F1", "이름 찾기 F1"),
    "figure.tokens": ("tokens read", "읽은 토큰"),
}
