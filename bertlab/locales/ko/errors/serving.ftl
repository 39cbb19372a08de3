## bertlab serve (bertlab/serving)

serve-needs-packages = bertlab serve 명령에는 { $packages } 패키지가 필요해요: pip install "bertlab[serve]"
serve-address-unusable = { $host }:{ $port } 주소를 쓸 수 없어요({ $reason }). --port로 다른 포트를, --host로 다른 주소를 골라 주세요.
serve-precision-of-onnx = { $name } 체크포인트는 가중치 형식이 정해진 ONNX 파일이에요. --precision { $precision } 옵션을 빼 주세요.
serve-worker-died = 작업 프로세스가 체크포인트를 여는 도중에 예기치 않게 종료됐어요. 메모리가 부족하면 --workers로 프로세스 수를 줄여 주세요.
serve-started = { $address }에서 { $checkpoint } 체크포인트로 응답해요. 경로 목록은 { $address }/docs에 있어요. Ctrl-C를 누르면 서버가 멈춰요.
serve-stopped = 서버를 멈춰요. 받은 요청 { $taken }개 중 { $answered }개에 응답했어요.

# 오류 응답
serve-json-invalid = 본문이 올바른 JSON이 아니에요. {"{"}"text": "..."{"}"} 같은 객체를 보내 주세요.
serve-body-not-object = 본문이 JSON 객체가 아니에요. Content-Type: application/json 헤더와 함께 {"{"}"text": "..."{"}"} 같은 객체를 보내 주세요.
serve-field-missing = { $field } 필드가 빠졌어요. 이 경로는 { $fields } 필드를 읽어요.
serve-field-unknown = { $field }: 이 경로에서 쓸 수 없는 필드예요. 이 경로는 { $fields } 필드를 읽어요.
serve-field-not-text = { $field } 필드가 텍스트가 아니에요.
serve-field-not-unicode = { $field } 필드에 글자가 아닌 서로게이트 반쪽이 들어 있어요. 올바른 유니코드를 보내 주세요.
serve-field-not-integer = { $field } 필드가 정수가 아니에요.
serve-field-not-number = { $field } 필드가 숫자가 아니에요.
serve-field-not-list = { $field } 필드가 텍스트 목록이 아니에요.
serve-field-too-small = { $field } 필드는 { $limit } 이상이어야 해요.
serve-field-too-large = { $field } 필드는 { $limit } 이하여야 해요.
serve-list-length = { $field } 필드에는 텍스트가 1개 이상 { $limit }개 이하로 있어야 해요.
serve-field-invalid = { $field }: { $reason }
serve-body-too-large = 요청이 { $kilobytes }kB를 넘어요. 요청을 줄이거나, 서버를 더 큰 --max-kilobytes로 시작해 주세요.
serve-body-too-slow = 요청 본문이 제시간에 도착하지 않았어요.
serve-route-unknown = { $path } 경로는 없어요. 쓸 수 있는 경로: { $routes }
serve-method-not-allowed = { $path } 경로는 { $method } 요청을 받지 않아요. 예측은 POST로, 정보는 GET으로 요청해 주세요.
serve-queue-full = 이미 요청 { $limit }개가 기다리고 있어서 더 받을 수 없어요. Retry-After 헤더에 적힌 시간(초)이 지난 다음 다시 보내 주세요.
serve-time-limit = { $seconds }초 안에 결과가 나오지 않았어요. 나중에 다시 보내거나 텍스트를 줄여 주세요.
serve-no-worker = 지금은 서버가 계산할 수 없어요: { $reason }
serve-request-kills-workers = 이 요청을 계산하던 작업 프로세스가 여러 번 예기치 않게 종료됐어요. 텍스트를 줄여 주세요.

## /docs 페이지

serve-about = BERT 체크포인트의 예측을 받을 수 있어요. 요청과 응답은 JSON 객체예요. 오류에는 ID와, Accept-Language 헤더의 언어로 쓴 메시지가 있어요.
serve-route-health = 서버가 준비됐는지 알려 줘요
serve-route-metrics = Prometheus용 지표
serve-field-text = 텍스트.
serve-field-pair = 둘째 텍스트. 텍스트 쌍을 읽는 체크포인트에 써요.
serve-field-top-k = 마스크마다 예측할 단어 수.
serve-field-question = 질문.
serve-field-passage = 지문. 요청이 서버의 크기 제한을 넘지 않으면 길이는 상관없어요.
serve-field-n-best = 응답에 담을 답의 개수.
serve-field-max-answer-tokens = 답 하나의 최대 토큰 수.
serve-field-threshold = "답 없음"의 점수에서 가장 높은 답 점수를 뺀 값이 이 임계값보다 크면 답하지 않아요. 기본값은 체크포인트의 임계값이에요.
serve-field-texts = 텍스트들.
serve-field-first = 문장 A.
serve-field-second = 문장 B.
serve-field-stride = 긴 지문에서 이웃한 창의 시작 사이 거리(토큰 수).
serve-field-max-tokens = 질문을 포함한 창 하나의 최대 토큰 수.
serve-field-sentences = 요약의 최대 문장 수.
serve-field-diversity = 문장이 먼저 고른 문장들과 얼마나 달라야 하는지, 0에서 1까지.
serve-field-context = 이어 쓸 텍스트.
serve-field-choices = 이어질 텍스트 두 개 이상.
serve-field-originals = 마스크마다 원래 있던 단어. 응답에 그 단어의 확률과 순위가 들어가요.
