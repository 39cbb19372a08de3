// The words of the views, in English and Korean.

/** The words on the controls. A host may pass options.labels to replace any of them. */
export const WORDS = {
  en: {
    view: "View", lines: "Lines", grid: "All heads", matrix: "Heat map", layer: "Layer", head: "Head", heads: "Heads", all: "All",
    previous: "Previous layer", next: "Next layer", filter: "Sentences", everything: "All", hide: "Hide [CLS] [SEP]", renormalise: "Renormalise rows",
    hideTip: "Leave the added special tokens out of the picture", renormaliseTip: "Divide what is left of each row by its sum, so that it is 1 again",
    headTip: "Click: on or off. Double-click, or the key S: this head alone", squareTip: "Show this head", fit: "Fit", fitTip: "Squeeze all tokens into view",
    asLines: "As lines", asMatrix: "As heat map", fetching: "Fetching layer", broken: "This picture's data cannot be read; run the page again.",
    empty: "No tokens left to show: change the filter.", attends: "attends to", attended: "is attended by", sum: "Sum over", tokens: "tokens",
    hint: "Hover a token. Click keeps it, Shift-click or a drag adds others, Esc lets go; ← → change the layer.", scale: "probability, square-root scale",
    gridHint: "Every square is one head: rows attend to columns. Click one to open it.", matrixHint: "Rows attend to columns. Click a row to keep it.",
    query: "Query", key: "Key", product: "q × k", dot: "q·k / √D", softmax: "Softmax", dimension: "dimension",
    neuronHint: "Pick the token that asks. Blue and up is positive, orange and down negative.",
    previousToken: "Previous token", nextToken: "Next token",
    merged: "Whole words", mergeTip: "Take the pieces of a word together: attention to a word is their sum, from a word their mean",
    find: "Find a token", findTip: "Enter goes to the next one, Shift-Enter to the one before", holdFound: "Keep all", holdFoundTip: "Keep every token found, summed",
    zoom: "Zoom", zoomIn: "Zoom in", zoomOut: "Zoom out", undo: "Undo (Ctrl-Z)", redo: "Redo (Ctrl-Shift-Z)",
    save: "Save", saveSvg: "SVG, vector", saveCsv: "CSV, the numbers", savePython: "Python lines", saveHtml: "HTML, one offline page", data: "Data",
    saveFailed: "This browser could not save the picture.", lang: "en",
    play: "Play", pause: "Pause", moment: "Moment of the training", earlier: "Earlier snapshot", later: "Later snapshot", step: "step",
    tokensRead: "tokens read", beside: "Side by side", besideTip: "Hold one moment beside the one that moves", held: "Held", everyHead: "Every head: arrows choose one", everyPair: "arrows choose a pair of tokens",
    loss: "loss", masked: "of hidden words right", sentences: "of next sentences right", follows: "B follows A", bits: "bits per character", maskedLoss: "loss of hidden words", heldOut: "On held-out text:",
    unmeasured: "Nothing was measured at this snapshot.", yes: "follows", no: "does not", noMask: "Write [MASK] in sentence A, and the words behind it move here.",
    noPair: "With a sentence B, its chance of following moves here.",
    timeHint: "← → move in time, space plays. Click a head to see it large; point into it, or walk there with the arrows, to read a number.",
  },
  ko: {
    view: "보기", lines: "선", grid: "모든 헤드", matrix: "히트맵", layer: "층", head: "헤드", heads: "헤드", all: "전체",
    previous: "이전 층", next: "다음 층", filter: "문장", everything: "전체", hide: "[CLS] [SEP] 숨기기", renormalise: "행 다시 정규화",
    hideTip: "덧붙은 특수 토큰을 그림에서 뺍니다", renormaliseTip: "남은 값을 행의 합으로 나누어 다시 1이 되게 합니다",
    headTip: "클릭: 켜고 끄기. 두 번 클릭하거나 S 키: 이 헤드만", squareTip: "이 헤드 보기", fit: "맞춤", fitTip: "모든 토큰을 한 화면에 넣습니다",
    asLines: "선으로", asMatrix: "히트맵으로", fetching: "가져오는 층:", broken: "그림의 자료를 읽을 수 없습니다. 페이지를 다시 실행하세요.",
    empty: "남은 토큰이 없습니다. 문장 선택을 바꾸세요.", attends: "이(가) 보는 것:", attended: "을(를) 보는 것:", sum: "합:", tokens: "개 토큰",
    hint: "토큰에 올려 보세요. 클릭하면 고정, Shift-클릭이나 끌기는 더하기, Esc는 풀기, ← →는 층 바꾸기.", scale: "확률, 제곱근 눈금",
    gridHint: "네모 하나가 헤드 하나: 행이 열을 봅니다. 클릭하면 열립니다.", matrixHint: "행이 열을 봅니다. 행을 클릭하면 고정됩니다.",
    query: "질의", key: "키", product: "q × k", dot: "q·k / √D", softmax: "소프트맥스", dimension: "차원",
    neuronHint: "묻는 토큰을 고르세요. 위쪽 파랑은 양수, 아래쪽 주황은 음수.",
    previousToken: "이전 토큰", nextToken: "다음 토큰",
    merged: "낱말 단위", mergeTip: "한 낱말의 조각을 합칩니다. 낱말로 가는 어텐션은 합, 낱말에서 나오는 어텐션은 평균입니다",
    find: "토큰 찾기", findTip: "Enter는 다음, Shift-Enter는 이전", holdFound: "모두 고정", holdFoundTip: "찾은 토큰을 모두 고정하고 더합니다",
    zoom: "확대", zoomIn: "확대", zoomOut: "축소", undo: "되돌리기 (Ctrl-Z)", redo: "다시 하기 (Ctrl-Shift-Z)",
    save: "저장", saveSvg: "SVG, 벡터 그림", saveCsv: "CSV, 숫자", savePython: "파이썬 코드", saveHtml: "HTML, 오프라인 한 장", data: "자료",
    saveFailed: "이 브라우저에서 그림을 저장하지 못했습니다.", lang: "ko",
    play: "재생", pause: "멈춤", moment: "학습의 순간", earlier: "이전 스냅샷", later: "다음 스냅샷", step: "스텝",
    tokensRead: "토큰 읽음", beside: "나란히", besideTip: "한 순간을 붙잡아 움직이는 순간 옆에 둡니다", held: "붙잡은 순간", everyHead: "모든 헤드: 화살표로 고르기", everyPair: "화살표로 토큰 한 쌍 고르기",
    loss: "손실", masked: "숨긴 낱말 정답", sentences: "다음 문장 정답", follows: "B가 A에 이어짐", bits: "글자당 비트", maskedLoss: "숨긴 낱말의 손실", heldOut: "따로 떼어 둔 글에서:",
    unmeasured: "이 스냅샷에서는 잰 값이 없습니다.", yes: "이어짐", no: "안 이어짐", noMask: "문장 A에 [MASK]를 쓰면 그 자리의 낱말이 여기서 움직입니다.",
    noPair: "문장 B를 쓰면 이어질 확률이 여기서 움직입니다.",
    timeHint: "← →는 시간 이동, 스페이스는 재생. 헤드를 누르면 크게 보이고, 가리키거나 그 안에서 화살표로 옮기면 값이 보입니다.",
  },
};

export function words(options) {
  return { ...WORDS.en, ...(WORDS[options?.lang] ?? {}), ...(options?.labels ?? {}) };
}
