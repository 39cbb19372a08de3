file-not-writable = { $path }: 쓸 수 없어요. { $reason }
file-not-readable = { $path }: 읽을 수 없어요. { $reason }
file-not-utf8 = { $path }: 손상된 파일이에요. UTF-8 텍스트가 아니에요.
json-invalid = { $path }: 손상된 파일이에요. 올바른 JSON이 아니에요.
json-not-an-object = { $path }: 손상된 파일이에요. JSON 객체가 아니라 { $type } 값이 들어 있어요.
lock-held = 다른 프로세스에서 이미 진행 중인 작업이 있어요: { $owner }. 끝날 때까지 기다리거나 다른 --out을 지정하세요.
lock-owner-run = { $path }의 학습
lock-owner-corpus = { $path }의 말뭉치 준비
system-no-such-file = 그런 파일이나 폴더가 없어요
system-permission-denied = 권한이 없어요
system-no-space-left = 디스크에 남은 공간이 없어요
system-read-only = 읽기 전용 디스크예요
system-is-a-directory = 파일이 아니라 폴더예요
system-not-a-directory = 폴더가 아니에요

## 설정

setting-out-of-range = --{ $flag } 값이 { $value }인데, { $limit }이어야 해요.
input-out-of-range = { $name } 값이 { $value }인데, { $limit }이어야 해요.
setting-not-finite = --{ $flag } 값이 { $value }인데, 유한한 수여야 해요.
setting-too-large = --{ $flag } 값이 너무 커요. 64비트에 들어가는 수여야 해요.
limit-at-least = { $minimum } 이상
limit-more-than = { $minimum } 초과
limit-less-than = { $lower } { $below } 미만
limit-at-most = { $lower } { $maximum } 이하
preset-unknown = { $name } 프리셋은 없어요. 다음 중에서 골라 주세요: { $presets }

## config.json

heads-do-not-divide = hidden_size({ $hidden })는 헤드 { $heads }개에 똑같이 나눌 수 없어요.
activation-unknown = { $activation } 활성 함수는 쓸 수 없어요. 쓸 수 있는 것: { $activations }
model-type-unknown = config.json의 model_type이 { $type }인데, bertlab은 { $types }만 읽어요.
family-xlnet = XLNet(model_type { $type })이에요. 두 갈래(two-stream) 어텐션으로 토큰을 무작위 순서로 하나씩 예측하기 때문에 [MASK]가 없고, 은닉 상태가 레이어마다 하나가 아니라 둘이에요. bertlab은 BERT 같은 인코더만 열어요.
family-bart = BART 계열 모델(model_type { $type })이에요. 인코더와, 토큰을 하나씩 써 나가는 디코더로 이루어진 모델이에요. bertlab은 BERT 같은 인코더만 열고, 디코더는 없어요.
family-t5 = T5(model_type { $type })예요. 인코더와, 토큰을 하나씩 써 나가는 디코더로 이루어진 모델이에요. bertlab은 BERT 같은 인코더만 열고, 디코더는 없어요.
family-gpt = GPT 같은 디코더(model_type { $type })예요. 토큰이 앞의 토큰에만 어텐션을 주기 때문에 [MASK]를 채울 수 없어요. 그래서 bertlab은 열지 않아요.
config-field-unsupported = config.json의 { $name } 값이 { $value }인데, bertlab은 { $expected }인 모델만 열어요.
position-embeddings-unknown = config.json의 position_embedding_type이 { $type }인데, 이 모델에서는 { $expected }이어야 해요.
config-quantised = 가중치가 양자화되어 있어요({ $method }). bertlab은 부동소수점 가중치만 읽으니 양자화하기 전의 체크포인트를 써 주세요.
config-rotary-unsupported = config.json의 { $name } 값은 bertlab이 지원하지 않아요. 스케일링하지 않은 회전 위치 임베딩(RoPE)과, 일정한 간격으로 있는 전역 어텐션 레이어만 지원해요.
config-sizes-missing = config.json에 { $fields }의 정수 값이 없어요.
config-labels-misnumbered = config.json의 레이블 번호가 { $numbers }인데, 0부터 차례로 매겨야 해요.
config-pruned-heads-malformed = config.json의 pruned_heads에는 레이어마다 헤드 목록이 하나씩 있어야 해요.
config-pruned-head-missing = config.json에는 { $layer }번 레이어의 { $head }번 헤드를 가지치기했다고 적혀 있는데, 그런 헤드는 없어요.
config-pruned-layer-empty = config.json에서 { $layer }번 레이어의 헤드를 모두 없앴어요. 하나 이상 남아 있어야 해요.
task-excluded = { $task } 태스크는 제외했어요: { $reason }
task-excluded-wnli = BERT 논문에서도 제외한 태스크예요(4.1절). WNLI의 검증 데이터에는 학습 문장이 반대 레이블로 다시 나와서, 항상 가장 흔한 레이블로 답하는 것(65.1%)보다 나은 모델이 없었어요(https://gluebenchmark.com/faq, 12번 질문).
task-unknown = { $task } 태스크는 없어요. 쓸 수 있는 태스크: { $tasks }. 내 데이터라면 custom을 쓰세요.
