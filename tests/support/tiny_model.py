"""Parts of the tiny random BERT of the tests: the texts of its vocabulary, its output layers and its labels."""

TEXTS = [
    "The potter set the green bowl on the shelf beside the window.",
    "Rain fell on the harbour all night, and the boats stayed in.",
    "Who carried the lantern? The keeper of the old mill carried it.",
    "She asked for tea, and he brought a kettle, two cups and some bread.",
    "A train leaves for the coast at six; another follows at nine.",
    "할머니가 부엌에서 따뜻한 보리차를 끓였다.",
    "기차는 아침 일곱 시에 바닷가로 떠난다.",
]
HEADS = ("mlm", "nsp", "span")
LABELS = {"sst2": ("negative", "positive"), "wikiann_en": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")}
