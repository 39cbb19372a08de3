question = 질문 답변
question-title = 지문에 질문하기
question-lead = BERT는 답을 직접 쓰지 않아요. 지문에서 답이 시작하고 끝나는 위치를 예측해요.
question-question = 질문
question-passage = 지문
question-candidates = 답 후보
question-candidates-help = 점수는 첫 토큰의 시작 로짓과 마지막 토큰의 끝 로짓을 더한 값이에요. 확률은 상위 답 20개와 *답 없음*에 소프트맥스를 적용한 값이에요.
question-progress = 지문의 윈도우 { $of }개 중 { $done }개를 읽었어요
question-reading = 지문을 읽고 있어요 …
question-too-long = 질문은 앞의 토큰 { $limit }개까지만 읽어요.
question-no-answer-likelier = “답 없음”의 점수가 이 답보다 높으니 답이 틀릴 수 있어요. 이 체크포인트는 SQuAD v1.1처럼 답이 있는 질문으로만 파인튜닝했어요.
question-answer = 답
question-probability = 확률
question-score = 점수
question-curves = 답이 시작하고 끝나는 곳
question-windows = 지문이 너무 길어서 겹치는 윈도우 { $count }개로 나누어 읽었어요. 점수가 가장 높은 답은 { $best }번째 윈도우에 있어요.
question-full-answer = 답 전체
question-no-answer = 답 없음
question-no-answer-score = “답 없음”의 점수에서 이 답의 점수를 뺀 값은 { FORMAT($margin, spec: "+.2f") }이고, 임계값 τ = { FORMAT($tau, spec: "+.1f") }보다 커요. 그래서 결과는 “답 없음”이에요.
question-answer-score = “답 없음”의 점수에서 이 답의 점수를 뺀 값은 { FORMAT($margin, spec: "+.2f") }이고, 임계값 τ = { FORMAT($tau, spec: "+.1f") }보다 크지 않아요. 그래서 이것이 답이에요.
question-best-span-prefix = 점수가 가장 높은 답:
tau = 임계값 τ
tau-help = *답 없음*의 점수에서 최고 답의 점수를 뺀 값이 τ보다 크면 결과가 *답 없음*이에요. 답이 없는 질문도 학습한 체크포인트라면 τ는 체크포인트에 저장된 값에서 시작해요.
question-no-answer-probability = “답 없음”의 확률: { FORMAT($probability, spec: ".0%") }.
question-allow-no-answer = “답 없음” 허용
question-allow-no-answer-help = 끄면 SQuAD v1.1처럼 점수가 가장 높은 구간이 항상 답이에요. 켜면 SQuAD v2.0처럼, “답 없음”의 점수에서 최고 답의 점수를 뺀 값이 임계값보다 클 때 결과가 “답 없음”이에요.
question-would-give-no-answer = 이 체크포인트는 답이 없는 질문도 학습했어요. ‘“답 없음” 허용’을 켜면 여기서는 결과가 “답 없음”이에요.
