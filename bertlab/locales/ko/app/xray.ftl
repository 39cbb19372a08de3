xray = 답변 엑스레이
xray-title = 답변 엑스레이: 답에 매긴 점수
xray-lead = 지문의 토큰마다 시작 점수와 끝 점수가 있어요. 임계값을 움직여 언제 결과가 “답 없음”이 되는지 보세요.
xray-about = 지문의 토큰마다 답이 시작할 확률과 끝날 확률이 있어요. 아래의 선들은 시작 토큰과 끝 토큰을 짝지어 만든 답 후보 가운데 점수가 가장 높은 것들이에요. “답 없음”의 점수에서 가장 좋은 후보의 점수를 뺀 값이 임계값보다 크면 결과는 “답 없음”이에요.
xray-try = 지문에서 답을 지우고, 대신 어떤 답이 나오는지 보세요.
start-xray = 답에 매긴 점수를 보고 임계값을 바꿔 봐요.
xray-answer-at = τ = { FORMAT($tau, spec: "g") }일 때의 답:
xray-no-answer-at = τ = { FORMAT($tau, spec: "g") }일 때의 결과는 “답 없음”이에요.
xray-result-changes-at = τ = { FORMAT($margin, spec: ".2f") }에서 결과가 바뀌어요. 답 없음 점수({ FORMAT($no_answer, spec: ".2f") })에서 가장 높은 답 점수({ FORMAT($best, spec: ".2f") })를 뺀 값이에요.
xray-spans = 답 후보
xray-candidate-count = 보여 줄 후보 수
xray-spans-lead = 밑줄 하나가 답 후보 하나예요. 밑줄 앞의 숫자는 순위와 점수예요. 겹치는 후보는 위아래로 나누어 그려요.
xray-columns = 시작 확률과 끝 확률
xray-columns-lead = 위쪽 파란색 막대는 시작 확률, 아래쪽 빗금 친 주황색 막대는 끝 확률이에요. [CLS]는 답 없음을 뜻해요. 가장 높은 막대는 { FORMAT($highest, spec: ".1%") }예요. 토큰에 마우스를 올리면 확률이 보여요.
xray-scale = 눈금
xray-scale-linear = 선형
xray-scale-logarithmic = 로그(작은 값도 보임)
xray-windows = 지문의 윈도우
xray-windows-lead = 지문을 겹치는 윈도우 { $count }개로 나누어 읽었어요. 답 없음 점수는 윈도우마다 하나씩 있고, 그중 가장 낮은 값을 써요.
xray-windows-one = 지문이 윈도우 하나에 다 들어가요.
xray-window = 윈도우
xray-heads = 질문과 답 사이의 어텐션
xray-direction = 방향
xray-direction-question = 질문 → 답
xray-direction-answer = 답 → 질문
xray-candidate = 답 후보
xray-head-share = { $layer }번 레이어 · { $head }번 헤드: 평균적으로 어텐션의 { FORMAT($share, spec: ".1%") }가 이 방향으로 가요. 어텐션이 균등할 때의 { FORMAT($ratio, spec: ".1f") }배예요.
xray-open-head-in-attention = 이 헤드를 어텐션 페이지에서 열기
xray-no-possible-start = 이 지문에는 답이 시작될 수 있는 토큰이 없어요.
