"""The words of the page *next sentence*."""

STRINGS = {
    "next-sentence": ("Next sentence", "다음 문장"),
    "next-sentence.title": ("Does one follow the other?", "이어지는 문장일까요?"),
    "next-sentence.lead": (
        "BERT learnt to tell a sentence's true neighbour from one torn out of another text.",
        "BERT는 진짜 다음 문장과 다른 글에서 뜯어 온 문장을 가려내도록 배웠습니다.",
    ),
    "next-sentence.first": ("First", "첫째 문장"),
    "next-sentence.second": ("Second", "둘째 문장"),
    "next-sentence.swap": ("Swap", "맞바꾸기"),
    "next-sentence.yes.next": ("follows", "이어집니다"),
    "next-sentence.no.next": ("does not follow", "이어지지 않습니다"),
    "next-sentence.yes.order": ("in order", "차례가 맞습니다"),
    "next-sentence.no.order": ("swapped", "앞뒤가 바뀌었습니다"),
    "next-sentence.order": (
        "This checkpoint learnt whether two neighbours stand in their order, not whether they are neighbours.",
        "이 체크포인트는 두 문장이 이웃인지가 아니라, 이웃한 두 문장의 앞뒤가 맞는지 배웠습니다.",
    ),
    "next-sentence.follow": ("A true pair", "이어지는 짝"),
    "next-sentence.other": ("Another subject", "다른 이야기"),
    "next-sentence.near": ("Same subject, wrong turn", "비슷하지만 어긋난 짝"),
}
