"""The words of the page *x-ray of an answer*."""

STRINGS = {
    "xray": ("Answer x-ray", "답의 엑스레이"),
    "xray.title": ("Behind an answer", "답 뒤에서 일어나는 일"),
    "xray.lead": (
        "Every word says how well an answer would start or end there. Move the threshold and see when BERT would "
        "rather say nothing.",
        "낱말마다 답이 거기서 시작하거나 끝날 만한지를 말합니다. 문턱값을 움직여 BERT가 언제 입을 다무는지 보세요.",
    ),
    "start.xray": (
        "See what an answer was weighed against, and move its threshold.",
        "답을 무엇과 견주었는지 보고 문턱값을 움직입니다.",
    ),
    "xray.says": ("At τ = {tau:g} BERT answers:", "τ = {tau:g}에서 BERT의 답:"),
    "xray.silent": ("At τ = {tau:g} BERT says: no answer.", "τ = {tau:g}에서 BERT는 답이 없다고 합니다."),
    "xray.flips": (
        "It flips at τ = {margin:.2f}: the no-answer score {none:.2f} less the best span's {best:.2f}.",
        "τ = {margin:.2f}에서 뒤바뀝니다. 답 없음 점수({none:.2f})에서 가장 나은 답의 점수({best:.2f})를 뺀 값입니다.",
    ),
    "xray.none": ("no answer", "답 없음"),
    "xray.answer": ("answer", "답"),
    "xray.spans": ("The spans it weighed", "견주어 본 답들"),
    "xray.show": ("Spans shown", "보여 줄 답의 수"),
    "xray.spans.lead": (
        "Each line is a span, with its place and its score; where spans overlap, their lines lie below each other.",
        "선 하나가 답 하나이고, 앞의 숫자는 순위와 점수입니다. 겹치는 답은 선이 아래로 쌓입니다.",
    ),
    "xray.columns": ("Where it would start, where it would end", "시작할 만한 곳, 끝날 만한 곳"),
    "xray.columns.lead": (
        "Upwards, blue: the answer starts here. Downwards, hatched orange: it ends here. [CLS] stands for no answer. "
        "The tallest column is {most:.1%}; point at a word for its numbers.",
        "위로 파란 기둥은 여기서 시작, 아래로 빗금 친 주황 기둥은 여기서 끝입니다. [CLS]는 답 없음입니다. 가장 높은 "
        "기둥이 {most:.1%}이고, 낱말을 가리키면 값이 보입니다.",
    ),
    "xray.scale": ("Columns", "기둥"),
    "xray.scale.linear": ("true to size", "크기 그대로"),
    "xray.scale.logarithmic": ("small ones visible (logarithmic)", "작은 것도 보이게(로그)"),
    "xray.start": ("start", "시작"),
    "xray.end": ("end", "끝"),
    "xray.windows": ("Windows over the passage", "나누어 읽은 창"),
    "xray.windows.lead": (
        "The passage was read in {count} overlapping windows; number {best} won. Of the no-answer scores the lowest "
        "counts.",
        "글을 겹치는 창 {count}개로 나누어 읽었고 {best}번 창이 이겼습니다. 답 없음 점수는 가장 낮은 것을 씁니다.",
    ),
    "xray.windows.one": (
        "The passage fits into one window, so there is nothing to choose between.",
        "글이 창 하나에 다 들어가서 고를 것이 없습니다.",
    ),
    "xray.window": ("Window", "창"),
    "xray.best": ("best span", "가장 나은 답"),
    "xray.characters": ("characters of the passage", "글의 글자"),
    "xray.score": ("score", "점수"),
    "xray.heads": ("Do question and answer look at each other?", "질문과 답은 서로를 볼까요?"),
    "xray.side": ("Direction", "방향"),
    "xray.side.question": ("question → answer", "질문 → 답"),
    "xray.side.answer": ("answer → question", "답 → 질문"),
    "xray.rank": ("Which span", "몇 번째 답"),
    "xray.share": ("share", "몫"),
    "xray.even": ("an even look", "고루 볼 때"),
    "xray.head": (
        "Layer {layer}, head {head}: {share:.1%} of the look, {ratio:.1f} times an even one.",
        "층 {layer}, 헤드 {head}: 시선의 {share:.1%}, 고루 볼 때의 {ratio:.1f}배입니다.",
    ),
    "xray.open": ("Open this head in Attention", "이 헤드를 어텐션 화면에서 열기"),
    "xray.nothing": ("No piece of this passage can start an answer.", "이 글에는 답이 시작될 만한 조각이 없습니다."),
}
