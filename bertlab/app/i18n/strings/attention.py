"""The words of the page *attention*."""

STRINGS = {
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
}
