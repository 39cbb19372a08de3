"""The words of the page *input*."""

STRINGS = {
    "input": ("Input", "입력"),
    "input.title": ("What goes in", "모델에 들어가는 것"),
    "input.lead": (
        "BERT never sees letters. It sees numbered pieces, and adds up three vectors for each.",
        "BERT는 글자를 보지 않습니다. 어휘에 있는 조각을 번호로 보고, 조각마다 세 벡터를 더해서 읽습니다.",
    ),
    "input.pieces": ("{count} pieces", "조각 {count}개"),
    "input.table": ("Pieces, ids and where they stand in the text", "조각과 번호, 글 속의 자리"),
    "input.position": ("position", "자리"),
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
}
