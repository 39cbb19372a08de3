"""The sentences each page begins with. Knows nothing else; they are English because the shipped models are."""

SHORT = "The bird sang because it felt the spring."
PAIR = ("The boy put the glass on the table.", "It fell because the table was not level.")

SENTENCE = "He opened the window and looked out at the rain."
HIDDEN = "3"

MASKED = "He opened the window and looked out at the [MASK]."
OTHER = "She locked the door and walked down to the [MASK]."
JUDGED = "A slow start, but the last half hour is a small wonder."

FOLLOWS = {
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
}

PASSAGE = (
    "The lighthouse on the northern cape was built in 1874 by the harbour company, after three ships had been lost on "
    "the rocks in a single winter. Its lamp first burned whale oil, later paraffin, and since 1931 an electric bulb "
    "whose light can be seen from twenty-two miles away. The last keeper left in 1987, when the lamp became automatic, "
    "and the house beside the tower is now a small museum that opens from April to October."
)
QUESTIONS = (
    "When did the last keeper leave?",
    "How far away can the light be seen?",
    "Why was the lighthouse built?",
    "What did the lamp burn first?",
)

# for the time machine, in the language that a run has read
MOMENT = {
    "en": ("She opened the [MASK] and went into the house.", "It was cold outside, and nobody was at home."),
    "ko": ("그는 서울에서 태어나 대학교를 [MASK]했다.", "그 뒤 그는 그 대학의 교수가 되었다."),
}
