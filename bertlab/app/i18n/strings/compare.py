"""The words of the page *compare*."""

STRINGS = {
    "compare": ("Before and after", "전과 후"),
    "compare.title": ("What changed?", "무엇이 달라졌을까?"),
    "compare.lead": (
        "Two checkpoints on one input, such as before and after fine-tuning, or one checkpoint on two inputs: which "
        "heads, layers and words differ.",
        "한 입력에 미세 조정 전과 후 같은 체크포인트 둘을 놓거나, 체크포인트 하나에 입력 둘을 놓고 "
        "어느 헤드, 층, 낱말이 다른지 봅니다.",
    ),
    "start.compare": ("Two models or two texts: what differs inside?", "두 모델, 두 글의 속이 어떻게 다른지 봅니다."),
    "compare.between": ("Compare", "비교"),
    "compare.checkpoints": ("two checkpoints", "체크포인트 둘"),
    "compare.inputs": ("two inputs", "입력 둘"),
    "compare.before": ("First checkpoint", "첫째 체크포인트"),
    "compare.after": ("Second checkpoint", "둘째 체크포인트"),
    "compare.first": ("First input", "첫째 입력"),
    "compare.second": ("Second input", "둘째 입력"),
    "compare.words": (
        "The two have different vocabularies, so they are compared word by word.",
        "둘의 어휘가 달라 낱말 단위로 비교합니다.",
    ),
    "compare.whole": (
        "The inputs are of one length: every piece is held against the one in its place.",
        "두 입력의 길이가 같아 조각마다 같은 자리의 조각과 비교합니다.",
    ),
    "compare.left-out": (
        "The inputs differ in length: compared is what reads alike in both. Left out: {first} of the first, {second} "
        "of the second.",
        "두 입력의 길이가 달라 양쪽에 똑같이 나오는 것만 비교합니다. "
        "첫째에서 {first}개, 둘째에서 {second}개를 뺐습니다.",
    ),
    "compare.heads": ("Which heads differ", "어느 헤드가 다른가"),
    "compare.heads.help": (
        "The Jensen-Shannon distance between the head's rows of attention, from 0 (alike) to 1. Blue heads (+) "
        "look farther away on the second side, orange ones (−) nearer; in brackets, by how many pieces.",
        "헤드의 어텐션 행 사이의 옌센-섀넌 거리(0이면 같음, 1까지)입니다. 파란 헤드(+)는 둘째 쪽에서 더 멀리, "
        "주황 헤드(−)는 더 가까이 봅니다. 괄호 안은 몇 조각만큼인지입니다.",
    ),
    "compare.farther": ("nearer ← second → farther", "가까이 ← 둘째 → 멀리"),
    "compare.head": ("One head, second less first", "헤드 하나: 둘째에서 첫째를 뺀 값"),
    "compare.less-more": ("less ← second → more", "적게 ← 둘째 → 많이"),
    "compare.other-heads": (
        "The two have different numbers of layers or heads, so head cannot be held against head; layers can.",
        "둘의 층이나 헤드 수가 달라 헤드끼리는 견줄 수 없고, 층끼리는 견줄 수 있습니다.",
    ),
    "compare.layers": ("How far each layer has moved", "층마다 얼마나 움직였나"),
    "compare.cka": ("linear CKA", "선형 CKA"),
    "compare.drift": ("cosine drift", "코사인 이동"),
    "compare.layer.first": ("layer of the first (0: embeddings)", "첫째의 층 (0: 임베딩)"),
    "compare.layer.second": ("layer of the second", "둘째의 층"),
    "compare.layer": ("layer (0: embeddings)", "층 (0: 임베딩)"),
    "compare.moved": ("Words that moved most", "가장 많이 움직인 낱말"),
    "compare.at": ("At layer", "볼 층"),
    "compare.working": ("Comparing …", "비교하는 중 …"),
}
