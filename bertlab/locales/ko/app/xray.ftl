xray = 답의 엑스레이
xray-title = 답 뒤에서 일어나는 일
xray-lead = 낱말마다 답이 거기서 시작하거나 끝날 만한지를 말합니다. 문턱값을 움직여 BERT가 언제 입을 다무는지 보세요.
start-xray = 답을 무엇과 견주었는지 보고 문턱값을 움직입니다.
xray-says = τ = { FORMAT($tau, spec: "g") }에서 BERT의 답:
xray-silent = τ = { FORMAT($tau, spec: "g") }에서 BERT는 답이 없다고 합니다.
xray-flips = τ = { FORMAT($margin, spec: ".2f") }에서 뒤바뀝니다. 답 없음 점수({ FORMAT($none, spec: ".2f") })에서 가장 나은 답의 점수({ FORMAT($best, spec: ".2f") })를 뺀 값입니다.
xray-none = 답 없음
xray-answer = 답
xray-spans = 견주어 본 답들
xray-show = 보여 줄 답의 수
xray-spans-lead = 선 하나가 답 하나이고, 앞의 숫자는 순위와 점수입니다. 겹치는 답은 선이 아래로 쌓입니다.
xray-columns = 시작할 만한 곳, 끝날 만한 곳
xray-columns-lead = 위로 파란 기둥은 여기서 시작, 아래로 빗금 친 주황 기둥은 여기서 끝입니다. [CLS]는 답 없음입니다. 가장 높은 기둥이 { FORMAT($most, spec: ".1%") }이고, 낱말을 가리키면 값이 보입니다.
xray-scale = 기둥
xray-scale-linear = 크기 그대로
xray-scale-logarithmic = 작은 것도 보이게(로그)
xray-start = 시작
xray-end = 끝
xray-windows = 나누어 읽은 창
xray-windows-lead = 글을 겹치는 창 { $count }개로 나누어 읽었고 { $best }번 창이 이겼습니다. 답 없음 점수는 가장 낮은 것을 씁니다.
xray-windows-one = 글이 창 하나에 다 들어가서 고를 것이 없습니다.
xray-window = 창
xray-best = 가장 나은 답
xray-characters = 글의 글자
xray-score = 점수
xray-heads = 질문과 답은 서로를 볼까요?
xray-side = 방향
xray-side-question = 질문 → 답
xray-side-answer = 답 → 질문
xray-rank = 몇 번째 답
xray-share = 몫
xray-even = 고루 볼 때
xray-head = 층 { $layer }, 헤드 { $head }: 시선의 { FORMAT($share, spec: ".1%") }, 고루 볼 때의 { FORMAT($ratio, spec: ".1f") }배입니다.
xray-open = 이 헤드를 어텐션 화면에서 열기
xray-nothing = 이 글에는 답이 시작될 만한 조각이 없습니다.
