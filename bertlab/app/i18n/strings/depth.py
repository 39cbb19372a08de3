"""The words of the page *depth lens*."""

STRINGS = {
    "depth": ("Depth lens", "층별 렌즈"),
    "depth.title": ("What would each layer say?", "층마다 뭐라고 할까요?"),
    "depth.lead": (
        "Every layer, read as if it were the last: watch a word come up from below.",
        "모든 층을 마지막 층인 것처럼 읽습니다. 낱말이 아래에서 떠오르는 것을 보세요.",
    ),
    "start.depth": ("What each layer would already say.", "층마다 벌써 무엇을 말하는지 봅니다."),
    "depth.honest": (
        "Read with care: the output layer was trained on the last layer only. What it makes of an earlier one is a "
        "reading from outside. A word that is missing there may still be known, written in another way.",
        "조심해서 읽으세요. 출력층은 마지막 층만 보고 배웠습니다. 앞 층에서 읽은 것은 밖에서 대어 본 값이라, 거기 없는 "
        "낱말도 다른 모양으로 이미 들어 있을 수 있습니다.",
    ),
    "depth.position": ("Follow this position", "따라갈 자리"),
    "depth.part": (
        "The text has {count} pieces; positions {first} to {last} are drawn, around the one that is followed.",
        "글이 {count}조각이라, 따라가는 자리 둘레의 {first}번부터 {last}번까지만 그립니다.",
    ),
    "depth.layer": ("layer {{}}", "층 {{}}"),
    "depth.embeddings": ("embeddings", "임베딩"),
    "depth.says": ("says", "하는 말"),
    "depth.probability": ("probability", "확률"),
    "depth.rank": ("rank", "순위"),
    "depth.rank.final": ("rank of the last layer's word", "마지막 층의 낱말이 여기서 갖는 순위"),
    "depth.depth": ("The last word, by depth", "마지막 낱말, 깊이에 따라"),
    "depth.final": (
        "At position {at} the last layer says <b>{word}</b>; how probable it is in every layer, and at which rank.",
        "{at}번 자리에서 마지막 층이 하는 말은 <b>{word}</b>입니다. 이 낱말이 층마다 갖는 확률과 순위입니다.",
    ),
    "depth.joint": ("Several masks together", "여러 빈칸을 함께"),
    "depth.joint.help": (
        "Filled from left to right, each mask given the words already put in; the best few are kept at every step "
        "(beam search). *Each alone* takes the best word of every mask by itself, scored in the same way.",
        "왼쪽부터 차례로, 앞에 넣은 낱말을 보고 다음 빈칸을 채웁니다. 걸음마다 가장 나은 몇 개만 남깁니다(빔 탐색). "
        "*따로따로*는 빈칸마다 가장 나은 낱말을 그냥 모은 것이고, 같은 방법으로 점수를 매깁니다.",
    ),
    "depth.joint.few": (
        "Write [MASK] twice or more, and they are filled together here.",
        "[MASK]를 두 번 이상 적으면 여기서 함께 채웁니다.",
    ),
    "depth.joint.words": ("words", "낱말"),
    "depth.joint.how": ("how", "방법"),
    "depth.joint.beam": ("together", "함께"),
    "depth.joint.alone": ("each alone", "따로따로"),
    "depth.joint.same": (
        "Each alone, the masks say the same as together.",
        "따로 채워도 함께 채운 것과 같습니다.",
    ),
    "depth.joint.better": (
        "Together they are {times} times as probable as each alone.",
        "함께 채우면 따로 채운 것보다 {times}배 그럴듯합니다.",
    ),
    "depth.beams": ("Kept at every step", "걸음마다 남길 수"),
}
