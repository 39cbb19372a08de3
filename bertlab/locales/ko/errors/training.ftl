# devices and memory
device-unknown = { $name }: 쓸 수 없는 장치예요. cpu나 cuda를 쓰세요.
device-not-supported = bertlab은 { $name }에서 실행되지 않아요. cpu나 cuda를 쓰세요.
cuda-not-available = 쓸 수 있는 CUDA 장치가 없어요. --device cpu를 쓰세요.
cuda-device-not-found = { $name } 장치가 없어요. 이 컴퓨터의 GPU는 { $count }개이고 번호는 0부터예요.
cuda-device-missing = { $rank }번 프로세스가 쓸 GPU가 없어요. 이 컴퓨터의 GPU는 { $count }개예요. 프로세스 수를 줄이세요.
training-out-of-memory = 메모리가 부족해요. --batch-size를 줄이거나 --accumulate로 배치를 나누세요(손실은 같아요). 마지막으로 저장한 상태는 그대로 있어요.

# several processes
run-peer-lost = 이 학습의 다른 프로세스가 끝났거나 연결이 끊겨서 이 프로세스도 멈춰요. 마지막으로 저장한 상태는 남아 있고, 같은 명령을 다시 실행하면 거기서 이어 가요.
run-stopped-by-torchrun = 다른 프로세스가 끝나서 torchrun이 이 프로세스를 멈췄어요. 마지막으로 저장한 상태는 남아 있고, 같은 명령을 다시 실행하면 거기서 이어 가요.
run-weights-differ-between-processes = 프로세스마다 시작 가중치가 달라요. 학습 기록 폴더와 체크포인트는 모든 컴퓨터에서 열 수 있는 곳에 있어야 해요.

# stopping and divergence
run-interrupted = { $step }스텝까지 마치고 멈췄어요. 같은 명령을 다시 실행하면 이어 가요.
run-interrupted-earlier-save = { $step }스텝까지 마치고 멈췄어요. 같은 명령을 다시 실행하면 { $saved }스텝부터 이어 가요.
run-interrupted-unsaved = { $step }스텝까지 마치고 멈췄어요. 아직 저장한 것이 없어요.
loss-not-finite = 손실이 유한한 수가 아니에요({ $value })
gradient-not-finite = 그래디언트 노름이 유한한 수가 아니에요({ $value })
loss-rose = 손실이 { $reference }에서 { $level }까지 올라갔어요
run-diverged = { $step }스텝에서 { $error }. { $saved }. --out을 새로 정하고 더 작은 --optim.lr로 해 보세요.
run-diverged-with-checkpoint = { $error } --from { $checkpoint } 옵션으로 이어 갈 수 있어요.
run-saved-nothing = 그 전에 저장한 것은 없어요
run-saved-step = { $step }스텝의 상태는 남아 있어요

# the run directory
run-state-not-written = 학습 상태를 { $path }에 쓸 수 없어요: { $reason }
run-state-damaged = { $path } 파일은 이 학습의 상태를 저장한 파일이 아니에요: { $reason }
run-settings-damaged = { $path } 파일이 손상되어 설정을 읽을 수 없어요. 처음부터 다시 하려면 { $directory } 폴더를 지우세요.
run-settings-differ = { $directory }에는 다른 설정의 학습이 있어요({ $differences }). --out을 다르게 정하거나 같은 설정을 쓰세요.
run-settings-differ-finished = { $directory }에는 다른 설정의 학습이 있어요({ $differences }). --out을 다르게 정하거나, 같은 설정을 쓰거나, --from { $directory } 옵션으로 그 결과에서 이어 가세요.
run-settings-differ-unsaved = { $directory }에는 다른 설정의 학습이 있어요({ $differences }). --out을 다르게 정하거나, 같은 설정을 쓰거나, 그 폴더를 지우세요. 한 번도 저장하지 못하고 끝난 학습이에요.
run-setting-difference = { $flag } { $before } → { $now }
run-setting-unset = (없음)
run-data-differs = { $directory }의 학습은 다른 데이터로 시작했어요({ $differences }). --out을 다르게 정하세요.
run-data-difference = { $name } { $before } → { $now }

# settings of pre-training
optimizer-unknown = { $name }: 쓸 수 없는 옵티마이저예요. --optim.name에는 { $names } 중 하나를 쓰세요.
mask-shares-too-large = --mask-share와 --random-share의 합은 1을 넘을 수 없어요.
new-vocabulary-without-from = --new-vocabulary는 체크포인트에서 인코더만 쓰고 토큰 임베딩은 새로 시작하는 옵션이에요. 그 체크포인트를 --from으로 지정하세요.
left-to-right-unsupported = { $family }의 config.json에는 왼쪽에서 오른쪽으로만 보는 어텐션을 기록할 수 없어요. --family bert를 쓰세요.
start-unsupported = --start { $start }는 BERT의 위치 임베딩을 바꾸는데, { $family }에는 그런 임베딩이 없어요. --start paper를 쓰세요.
from-with-random-init-flags = --from은 체크포인트의 크기와 가중치를 그대로 이어 써요. { $flags } 옵션은 빼세요.
generator-flags-without-generator = { $flags } 옵션은 생성기를 설정하는데, 생성기는 --token-objective replaced를 쓸 때만 있어요.
token-objective-with-flags = --token-objective { $objective }는 무작위 가중치에서 시작하고 교사 모델과 문장 쌍을 쓰지 않아요. { $flags } 옵션은 빼세요.
token-objective-unsupported = { $family } 체크포인트에는 --token-objective { $objective }에 필요한 출력층이 없어요. --family electra를 쓰세요.
generator-missing = { $checkpoint } 체크포인트는 판별기라서 생성기와 함께 평가해요. checkpoint와 generator가 모두 들어 있는 학습 기록 폴더를 지정하세요.
generator-differs = { $generator }의 임베딩이 { $checkpoint }의 임베딩과 달라요. 함께 학습한 모델이 아니에요.
start-teacher-without-teacher = --start teacher는 교사 모델의 레이어를 복사해요. 교사 모델을 --teacher로 지정하세요.
start-teacher-too-shallow = --start teacher: 학생 모델의 레이어({ $layers }개)가 교사 모델({ $teacher_layers }개)보다 많아요. --layers를 더 작게 지정하세요.
start-teacher-differs = --start teacher: 학생 모델의 { $name } 모양({ $own })이 교사 모델의 모양({ $teachers })과 달라요. --hidden과 --attention-heads를 교사 모델에 맞추세요.
teacher-flags-without-teacher = { $flags }: 손실 가운데 교사 모델과 비교하는 부분에 곱하는 가중치예요. --teacher로 교사 모델을 지정하세요.
teacher-cosine-of-other-size = --teacher-cosine은 은닉 상태를 비교하는데, 학생 모델의 은닉 차원({ $hidden })과 교사 모델의 은닉 차원({ $teacher_hidden })이 달라요. --hidden과 --attention-heads를 교사 모델과 같게 하세요.
teacher-of-left-to-right = --teacher를 쓰면 가려진 토큰의 예측을 배우는데, 왼쪽에서 오른쪽으로 읽는 모델에는 가려진 토큰이 없어요. --teacher나 --left-to-right를 빼세요.
teacher-vocabulary-differs = { $teacher }의 어휘 집합이 { $corpus }의 어휘 집합과 달라서 교사 모델이 될 수 없어요. --tokenizer { $teacher } 옵션으로 말뭉치를 다시 준비하세요.
final-max-tokens-too-few = --final-max-tokens 값이 { $value }인데, --max-tokens보다 커야 해요.
pairs-too-long = { $tokens }토큰인 쌍은 너무 길어요. 이 모델은 { $positions }토큰까지만 읽어요.
inputs-too-long-for-teacher = 토큰 { $tokens }개짜리 입력은 교사 모델이 읽기에 너무 길어요. 교사 모델은 { $positions }토큰까지만 읽어요. --max-tokens를 줄이세요.
from-vocabulary-differs = { $corpus }의 어휘 집합이 { $checkpoint }의 어휘 집합과 달라요. --tokenizer { $checkpoint } 옵션으로 다시 준비하거나, --new-vocabulary로 인코더만 이어 쓰세요.
left-to-right-with-sentence-pair = 왼쪽에서 오른쪽으로 읽는 모델은 [CLS]가 다른 토큰을 보지 못해서 문장 쌍 목표를 학습할 수 없어요. --pair-objective none을 더하세요.
corpus-without-characters = 말뭉치에 글자가 없어서 글자당 비트 수를 계산할 수 없어요. 다른 텍스트로 다시 준비하세요.
tensorboard-not-installed = --tensorboard에는 tensorboard 패키지가 필요해요: pip install tensorboard

# preparing a corpus
tokenizer-flags-unused = --tokenizer로 이미 학습된 어휘 집합을 쓰니 { $flags } 옵션은 빼 주세요.
extend-vocabulary-without-tokenizer = --extend-vocabulary는 이미 있는 어휘 집합에 토큰을 더하는 옵션이에요. 그 체크포인트를 --tokenizer로 지정하세요.
extend-vocabulary-unsupported = --extend-vocabulary는 WordPiece 어휘 집합에만 쓸 수 있는데, { $tokenizer }의 어휘 집합은 { $kind }예요. 이 옵션을 빼세요.

# export-run
run-directory-invalid = { $path }: 학습 기록이 아니에요. log.jsonl도 snapshots도 없어요.
run-file-outside = { $path }: 학습 기록 폴더 { $run } 밖을 가리키는 링크예요. 파일 자체로 바꾸세요.
export-target-exists = { $path }: 이미 있어요. 다른 --out을 고르거나 먼저 지우세요.
export-rows-too-few = --rows와 --snapshots는 2 이상이어야 해요.
sentence-without-mask = "{ $text }"에 [MASK]가 없어요. 단어 하나를 [MASK]로 바꿔 주세요.
sentence-too-long = 문장이 { $tokens }토큰인데 이 모델은 { $positions }토큰까지만 읽어요. 문장을 줄여 주세요: "{ $text }"
evaluate-needs-one-source = 예측에 쓸 --checkpoint와 채점할 --predictions 파일 가운데 하나만 지정해 주세요.
evaluate-pretraining-needs-corpus = 사전 학습을 평가하려면 --checkpoint와 --data(`bertlab prepare`로 만든 말뭉치)를 지정해 주세요.
evaluate-everyday-needs-checkpoint = 일상 문장으로 평가하려면 --checkpoint를 지정하고, --split은 validation이나 test로 지정해 주세요.
evaluate-rows-without-labels = { $name }에 레이블이 없어서 평가할 수 없어요. --out으로 예측을 파일에 저장해 주세요.
flag-needs-unanswerable = { $flag } 옵션은 squad_v2처럼 답이 없는 질문이 있는 태스크에만 써요. { $task }에는 쓸 수 없어요.
flag-needs-classification = { $flag } 옵션은 sst2 같은 분류 태스크에만 써요. { $task }에는 쓸 수 없어요.
teacher-of-other-vocabulary = { $teacher }의 어휘 집합이 { $checkpoint }의 어휘 집합과 달라서 교사 모델이 될 수 없어요.
teacher-of-other-labels = 교사 모델 { $teacher }의 레이블({ $labels })이 태스크의 레이블({ $expected })과 달라요.
flag-needs-sentence-vectors = { $flag } 옵션은 stsb_vectors 같은 문장 벡터 태스크에만 써요. { $task }에는 쓸 수 없어요.
record-needs-checkpoint = --record는 평가 결과를 체크포인트에 기록해요. --checkpoint로 체크포인트를 지정해 주세요.
record-needs-own-checkpoint = { $checkpoint } 체크포인트는 bertlab으로 만든 것이 아니어서 평가 결과를 기록할 파일 bertlab.json이 없어요(--record).
record-needs-labels = 레이블이 없는 행이어서 --record로 기록할 결과가 없어요.
finetune-rows-held-out = 검증용 행을 지정하지 않아서 학습용 { FORMAT($rows, spec: ",") }개 행 가운데 { FORMAT($held_out, spec: ",") }개를 평가용으로 떼어 두었어요(--hold-out).
search-under-torchrun = 하이퍼파라미터 탐색(--seeds, --grid, --grid-...)은 학습을 하나씩 차례로 실행해요. torchrun 없이 시작해 주세요.
search-without-held-out-rows = 하이퍼파라미터 탐색(--seeds, --grid, --grid-...)은 검증용 행으로 학습 결과를 비교해요. --validation으로 검증용 행을 지정해 주세요.
search-other-metric = { $directory }의 학습들은 다른 지표로 비교했어요(지금 쓰는 지표: { $metric }). 다른 --out을 골라 주세요.
reproduce-row-unknown = { $table }에 { $name } 행은 없어요. 쓸 수 있는 행: { $names }
reproduce-column-unknown = { $table }에 { $name } 열은 없어요. 쓸 수 있는 열: { $names }
reproduce-needs-corpus = { $table } 표를 재현하려면 모델을 사전 학습해야 해요. `bertlab prepare`로 만든 말뭉치를 --corpus로 지정해 주세요.
reproduce-perplexity-needs-validation = 퍼플렉시티는 검증 텍스트로 계산해요. `bertlab prepare`로 준비한 말뭉치를 --validation으로 지정해 주세요.
reproduce-data-not-found = { $directory } 폴더가 없어요. --data 폴더 안에는 태스크마다 폴더가 하나씩 있어야 해요.
reproduce-task-not-found = { $directory }에 { $task } 폴더가 없어요. 이 폴더에 { $task } 태스크의 행이 있어야 해요.
reproduce-other-settings = { $directory }에는 { $changed } 설정이 다른 표가 있어요. 다른 --out을 고르거나 같은 설정을 써 주세요.
reproduce-flag-for-benchmarks = { $flag } 옵션은 논문의 표 1~4에만 쓸 수 있어요. 빼고 실행해 주세요.
reproduce-quick-with-grid = --quick과 --grid는 함께 쓸 수 없어요. 하나만 골라 주세요.

## 압축

compress-weights-need-format = --weights { $weights } 옵션에는 --format { $format } 옵션이 필요해요.
compress-labels-differ = 체크포인트의 레이블({ $labels })이 태스크의 레이블({ $task_labels })과 달라요.
bfloat16-not-supported = 이 프로세서에는 bfloat16 명령어가 없어요. --weights float16을 쓰거나, --format onnx와 함께 --weights int8을 쓰세요.
