"""The texts each page begins with, in the language that the open checkpoint reads. Knows nothing else."""

from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True)
class Examples:
    """Examples in one language.

    short: for the picture of the first page. pair: two sentences for the input and the attention; changed: another
    B to compare. sentence: one to hide words of, `hidden` the number of the first. masked, other: the same with a
    mask, and another to patch from. judged: a review. alike: two sentences that say nearly the same, for what compares
    them. named: a sentence with names. follows: pairs for next sentence, by what they show. questions: each answered
    in `passage`. moment: a pair for the time machine, with a mask.
    """

    short: str
    pair: Pair
    changed: str
    sentence: str
    hidden: str
    masked: str
    other: str
    judged: str
    alike: Pair
    named: str
    follows: dict[str, Pair]
    passage: str
    questions: tuple[str, ...]
    moment: Pair


EXAMPLES = {
    "en": Examples(
        short="The bird sang because it felt the spring.",
        pair=("The boy put the glass on the table.", "It fell because the table was not level."),
        changed="It broke because the glass was not strong.",
        sentence="He opened the window and looked out at the rain.",
        hidden="3",
        masked="He opened the window and looked out at the [MASK].",
        other="She locked the door and walked down to the [MASK].",
        judged="A slow start, but the last half hour is a small wonder.",
        alike=("A woman is slicing an onion in the kitchen.", "In the kitchen, a woman is cutting up an onion."),
        named="Last spring the University of Vienna invited Clara Schumann to play in Lake Garda's old theatre.",
        follows={
            "follow": (
                "The oven was still cold when we put the bread in.",
                "It took almost an hour before the crust turned brown.",
            ),
            "other": (
                "The oven was still cold when we put the bread in.",
                "Parliament will vote on the new tax law next Tuesday.",
            ),
            "near": (
                "The oven was still cold when we put the bread in.",
                "Bread has been baked in this valley since the Middle Ages.",
            ),
        },
        passage=(
            "The lighthouse on the northern cape was built in 1874 by the harbour company, after three ships had been "
            "lost on the rocks in a single winter. Its lamp first burned whale oil, later paraffin, and since 1931 an "
            "electric bulb whose light can be seen from twenty-two miles away. The last keeper left in 1987, when the "
            "lamp became automatic, and the house beside the tower is now a small museum that opens from April to "
            "October."
        ),
        questions=(
            "When did the last keeper leave?",
            "How far away can the light be seen?",
            "Why was the lighthouse built?",
            "What did the lamp burn first?",
        ),
        moment=("She opened the [MASK] and went into the house.", "It was cold outside, and nobody was at home."),
    ),
    "ko": Examples(
        short="봄이 오자 새가 노래를 불렀다.",
        pair=("소년은 식탁 위에 유리잔을 놓았다.", "식탁이 기울어 있어서 유리잔이 떨어졌다."),
        changed="유리잔이 튼튼하지 않아서 바로 깨졌다.",
        # a word with a particle at its end is more than one piece, so one without is hidden
        sentence="비가 와도 선수들은 끝까지 포기하지 않았다.",
        hidden="5",
        masked="그는 서울에서 태어나 대학교를 [MASK]하였다.",
        other="그는 부산에서 자라 중학교에 [MASK]하였다.",
        judged="처음은 느리지만 마지막 삼십 분이 정말 놀라운 영화다.",
        alike=("한 여자가 부엌에서 양파를 썰고 있다.", "부엌에서 여자 한 명이 양파를 자르고 있다."),
        named="지난봄 서울대학교는 장영실을 주제로 한 강연을 부산에서 열었다.",
        follows={
            "follow": (
                "이 역은 1974년에 처음 문을 열었다.",
                "그 뒤 노선이 늘어나면서 역 건물도 새로 지었다.",
            ),
            "other": (
                "이 역은 1974년에 처음 문을 열었다.",
                "고래는 허파로 숨을 쉬는 포유류이다.",
            ),
            "near": (
                "이 역은 1974년에 처음 문을 열었다.",
                "철도는 19세기 영국에서 널리 쓰이기 시작하였다.",
            ),
        },
        passage=(
            "북쪽 곶의 등대는 한 해 겨울에 배 세 척이 바위에 부딪쳐 가라앉은 뒤 1874년에 항만 회사가 세웠다. 등불은 "
            "처음에는 고래기름을, 나중에는 등유를 태웠고, 1931년부터는 35킬로미터 밖에서도 보이는 전구를 쓰고 있다. "
            "등불이 자동으로 바뀐 1987년에 마지막 등대지기가 떠났고, 탑 옆의 집은 지금 4월부터 10월까지 여는 작은 "
            "박물관이다."
        ),
        questions=(
            "마지막 등대지기는 언제 떠났나요?",
            "불빛은 얼마나 멀리서 보이나요?",
            "등대는 왜 세워졌나요?",
            "등불은 처음에 무엇을 태웠나요?",
        ),
        moment=("그는 서울에서 태어나 대학교를 [MASK]했다.", "그 뒤 그는 그 대학의 교수가 되었다."),
    ),
}
