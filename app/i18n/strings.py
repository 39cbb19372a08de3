"""Every word the window shows, in English and Korean, by page. Knows nothing else.

Texts are Markdown where Streamlit reads Markdown, so nothing a user typed may be put into one.
"""

STRINGS: dict[str, tuple[str, str]] = {
    # the frame
    "checkpoint": ("Checkpoint", "체크포인트"),
    "checkpoint.help": (
        "Pick one, or type a directory on this machine or a Hugging Face id and press Enter. "
        "*auto* opens the one that suits each page.",
        "하나를 고르거나, 이 컴퓨터의 폴더 또는 Hugging Face 이름을 적고 Enter를 누르세요. "
        "*auto*는 화면마다 알맞은 것을 엽니다.",
    ),
    "checkpoint.stays": ("Still open:", "그대로 열려 있습니다:"),
    "checkpoint.size": ("{layers} layers × {heads} heads · {hidden} wide", "층 {layers} × 헤드 {heads} · 폭 {hidden}"),
    "checkpoint.none": (
        "No checkpoint is shipped here yet. Type a directory or a Hugging Face id in the sidebar.",
        "아직 함께 제공되는 체크포인트가 없습니다. 왼쪽에 폴더나 Hugging Face 이름을 적으세요.",
    ),
    "language": ("Language", "언어"),
    "long.link": (
        "This text is too long for a link: a copied address will not bring it back.",
        "글이 너무 길어 주소에 담을 수 없습니다. 복사한 주소로는 되살아나지 않습니다.",
    ),
    "download.html": ("Save as one HTML file", "HTML 파일 하나로 저장"),
    "sentence.a": ("Sentence A", "문장 A"),
    "sentence.b": ("Sentence B", "문장 B"),
    "sentence.b.empty": ("may stay empty", "비워 두어도 됩니다"),
    "open.instead": ("Open the checkpoint that suits this page", "이 화면에 맞는 체크포인트 열기"),
    # start
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
    "start.open": ("Open now", "지금 열림"),
    "start.arcs": (
        "The strongest looks of layer {layer}, in every one of its heads: a colour is a head, a thicker arc is more "
        "attention.",
        "층 {layer}의 모든 헤드에서 가장 강한 시선입니다. 색 하나가 헤드 하나이고, 굵을수록 어텐션이 큽니다.",
    ),
    "start.input": ("What BERT is given: numbered pieces.", "BERT가 받는 번호 붙은 조각을 봅니다."),
    "start.attention": ("See where each word looks, head by head.", "낱말마다 어디를 보는지 헤드별로 봅니다."),
    "start.fill-mask": ("Click a word away and see what BERT would say.", "낱말을 눌러 숨기고 BERT의 대답을 봅니다."),
    "start.next-sentence": ("Two sentences: does one follow the other?", "두 문장이 이어지는지 묻습니다."),
    "start.question": ("Ask a passage; the answer lights up in it.", "글에게 물으면 답에 불이 들어옵니다."),
    "card.scratch": (
        "Began as random numbers and read until it knew some English.",
        "아무것도 모르는 난수에서 출발해 영어를 읽고 배웠습니다.",
    ),
    "card.strongest": (
        "A published small encoder that went on reading. The best at missing words.",
        "공개된 작은 인코더에 더 읽혔습니다. 빈칸을 가장 잘 채웁니다.",
    ),
    "card.squad": (
        "The strongest one, taught to find answers in a passage.",
        "가장 강한 것에 글에서 답을 찾는 법을 가르쳤습니다.",
    ),
    "figure.masked_accuracy": ("missing words right", "빈칸 정답"),
    "figure.nsp_accuracy": ("next sentence right", "다음 문장 정답"),
    "figure.f1": ("answers, F1", "답 찾기 F1"),
    "figure.exact_match": ("answers, exact", "답 찾기 일치"),
    "figure.tokens": ("tokens read", "읽은 토큰"),
    # input
    "input": ("Input", "입력"),
    "input.title": ("What goes in", "모델에 들어가는 것"),
    "input.lead": (
        "BERT never sees letters. It sees numbered pieces, and adds up three vectors for each.",
        "BERT는 글자를 보지 않습니다. 어휘에 있는 조각을 번호로 보고, 조각마다 세 벡터를 더해서 읽습니다.",
    ),
    "input.pieces": ("{count} pieces", "조각 {count}개"),
    "input.table": ("Pieces, ids and where they stand in the text", "조각과 번호, 글 속의 자리"),
    "input.position": ("place", "위치"),
    "input.piece": ("piece", "조각"),
    "input.id": ("id", "번호"),
    "input.start": ("from", "처음"),
    "input.end": ("to", "끝"),
    "input.segment": ("sentence", "문장"),
    "input.embeddings": ("Three vectors for every piece, and their sum", "조각마다 벡터 셋, 그리고 그 합"),
    "input.embeddings.help": (
        "Each row is a piece, each column one of the model's dimensions. What the piece is, where it stands, which "
        "sentence it belongs to; added up and normalised, this is all the first layer gets.",
        "가로줄은 조각, 세로줄은 모델의 차원입니다. 무엇인지, 어디 있는지, 어느 문장에 속하는지를 더하고 "
        "정규화한 것이 첫 층이 받는 전부입니다.",
    ),
    "embedding.token": ("token", "토큰"),
    "embedding.position": ("position", "위치"),
    "embedding.type": ("token type", "문장 구분"),
    "embedding.sum": ("sum", "합"),
    # attention
    "attention": ("Attention", "어텐션"),
    "attention.title": ("Where each piece looks", "조각마다 바라보는 곳"),
    "attention.lead": (
        "Point at a piece to see which others it draws from. Every colour is a head; click one to switch it off, "
        "double-click to see it alone.",
        "조각을 가리키면 어디에서 정보를 가져오는지 보입니다. 색 하나가 헤드 하나입니다. 누르면 꺼지고, 두 번 누르면 "
        "그것만 남습니다.",
    ),
    "view": ("View", "보기"),
    "view.heads": ("Heads", "헤드"),
    "view.neuron": ("Inside one head", "헤드 하나의 속"),
    "view.bertviz": ("bertviz", "bertviz"),
    "view.neuron.lead": (
        "How one head decides: the query of a piece times the key of every other, scaled, then softmax.",
        "헤드 하나가 고르는 방법: 조각의 질의(q)와 다른 조각의 키(k)를 곱하고, 크기를 맞추고, 소프트맥스를 씌웁니다.",
    ),
    "view.bertviz.lead": (
        "The familiar view by Jesse Vig, for short inputs.",
        "Jesse Vig가 만든 익숙한 화면입니다. 짧은 글에 씁니다.",
    ),
    "layer": ("Layer", "층"),
    "head": ("Head", "헤드"),
    "bertviz.long": (
        "bertviz is for inputs of {limit} pieces or fewer; this one has {count}. The view *Heads* takes it whole.",
        "bertviz는 조각 {limit}개까지만 그립니다. 지금은 {count}개입니다. *헤드* 보기는 전부 그립니다.",
    ),
    # fill mask
    "fill-mask": ("Fill mask", "빈칸 채우기"),
    "fill-mask.title": ("Hide a word", "낱말 숨기기"),
    "fill-mask.lead": (
        "Click a word and BERT says what it would put there. Click it again to bring it back.",
        "낱말을 누르면 BERT가 그 자리에 무엇을 넣을지 말합니다. 다시 누르면 돌아옵니다.",
    ),
    "fill-mask.text": ("Text", "글"),
    "fill-mask.text.help": ("You may also type [MASK] yourself.", "[MASK]라고 직접 적어도 됩니다."),
    "fill-mask.reset": ("Show every word again", "모두 되돌리기"),
    "fill-mask.top": ("Proposals", "후보 수"),
    "fill-mask.none": ("Click a word above to hide it.", "위에서 낱말을 하나 눌러 숨겨 보세요."),
    "fill-mask.empty": ("The text is empty: type some words.", "글이 비어 있습니다. 몇 낱말을 적어 보세요."),
    "fill-mask.hidden": ("“{word}” hidden", "숨긴 낱말 “{word}”"),
    "fill-mask.mask": ("[MASK] number {number}", "[MASK] {number}번째"),
    # next sentence
    "next-sentence": ("Next sentence", "다음 문장"),
    "next-sentence.title": ("Does one follow the other?", "이어지는 문장일까요?"),
    "next-sentence.lead": (
        "BERT learnt to tell a sentence's true neighbour from one torn out of another text.",
        "BERT는 진짜 다음 문장과 다른 글에서 뜯어 온 문장을 가려내도록 배웠습니다.",
    ),
    "next-sentence.first": ("First", "첫째 문장"),
    "next-sentence.second": ("Second", "둘째 문장"),
    "next-sentence.swap": ("Swap", "맞바꾸기"),
    "next-sentence.yes": ("follows", "이어집니다"),
    "next-sentence.no": ("does not follow", "이어지지 않습니다"),
    "next-sentence.follow": ("A true pair", "이어지는 짝"),
    "next-sentence.other": ("Another subject", "다른 이야기"),
    "next-sentence.near": ("Same subject, wrong turn", "비슷하지만 어긋난 짝"),
    # question answering
    "question": ("Question answering", "질문과 답"),
    "question.title": ("Ask a passage", "글에게 묻기"),
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
    "question.none": (
        "No answer, says BERT: {probability:.0%}.",
        "BERT의 판단: 답이 없음 {probability:.0%}.",
    ),
}
