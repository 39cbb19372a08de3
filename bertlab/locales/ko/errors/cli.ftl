stdin-read-twice = 표준 입력으로는 텍스트를 하나만 읽을 수 있어요. 나머지는 명령줄에 적어 주세요.
command-unknown = "{ $command }" 명령은 없어요. bertlab --help에서 명령 전체 목록을 볼 수 있어요.
command-needs-package = bertlab { $command } 명령에는 { $package } 패키지가 필요해요: pip install { $package }
arguments-invalid = { $reason } ({ $command } --help를 참고하세요)
arguments-not-understood = 명령줄 인자를 읽을 수 없어요
out-of-memory = 메모리가 부족해요. --batch-size를 줄이거나 더 작은 모델을 써 주세요.
file-operation-failed = { $path }: { $reason }
operation-failed = { $reason }
process-failed = { $rank }번 프로세스: { $error }
layer-out-of-range = { $layer }번 레이어는 없어요. 레이어는 0번부터 { $last }번까지 있어요.
head-out-of-range = { $head }번 헤드는 없어요. 헤드는 0번부터 { $last }번까지 있어요.

## 예상하지 못한 예외 (bertlab/config/crash_log.py)

unexpected-error = 예상하지 못한 오류가 났어요(bertlab의 버그예요): { $reason } (스택 트레이스는 { $path }에 ID { $id }로 기록했어요. BERTLAB_TRACEBACK=1을 설정하면 화면에도 출력돼요)
unexpected-error-without-log = 예상하지 못한 오류가 났어요(bertlab의 버그예요): { $reason } (BERTLAB_TRACEBACK=1을 설정하면 자세히 출력돼요)

# export
export-no-directory = 저장할 폴더를 지정해 주세요.
export-prune-and-average = --prune과 --average는 함께 쓸 수 없어요. 평균을 먼저 저장한 다음 가지치기하세요.
export-share-without-average = --share는 평균을 낼 때 상대 체크포인트에 주는 비중이에요. 상대 체크포인트를 --average로 지정하세요.
export-checkpoint-exists = { $path }: 이미 체크포인트가 있어요. 다른 폴더를 고르거나 --replace를 붙이세요.
export-int8-needs-onnx = --dtype int8은 ONNX 파일에만 쓸 수 있어요. --format onnx를 붙이거나, 체크포인트에는 --dtype float8을 쓰세요.
vectors-written = { $checkpoint }: 숫자 { $size }개짜리 벡터 { FORMAT($count, spec: ",") }개
sentences-only-one = 텍스트가 하나뿐이라 비교할 것이 없어요.
sentences-clustering-slow = 텍스트 { FORMAT($count, spec: ",") }개에서 군집을 찾고 있어요. 몇 분 걸릴 수 있어요.
sentences-too-few-to-cluster = 서로 다른 텍스트가 { $least }개보다 적어서 군집을 만들지 않아요.
sentences-blank = 비어 있는 줄(행) { FORMAT($count, spec: ",") }개는 뺐어요.
sentences-truncated = 텍스트 { FORMAT($count, spec: ",") }개는 체크포인트가 읽는 길이보다 길어서 뒷부분을 뺐어요.
sentences-unreadable = 텍스트 { FORMAT($count, spec: ",") }개는 { $checkpoint } 체크포인트가 읽지 못하는 언어나 문자로 되어 있어서 벡터를 믿기 어려워요. `bertlab cluster`는 이 텍스트를 빼고, `bertlab similar`는 똑같은 텍스트하고만 짝지어요.
checkpoint-of-other-language = { $name } 체크포인트는 { $language }로 학습했는데 텍스트는 { $text_language }예요. 결과를 믿지 마세요.
fine-tuned-on-single-texts = { $checkpoint } 체크포인트는 텍스트 하나씩으로 파인튜닝해서, 텍스트 쌍의 예측은 믿기 어려워요.
fine-tuned-on-pairs = { $checkpoint } 체크포인트는 텍스트 쌍으로 파인튜닝해서, 텍스트 하나의 예측은 믿기 어려워요.
sentences-untrained = { $checkpoint } 체크포인트는 문장 벡터를 만들도록 학습하지 않아서, 상관없는 텍스트끼리도 코사인이 커요. `bertlab finetune klue_sts_vectors`처럼 파인튜닝해 보세요.
summary-truncated = 문장 { FORMAT($count, spec: ",") }개는 체크포인트가 읽는 길이보다 길어서 뒷부분을 빼고 골랐어요.
summary-blank = 글자나 숫자가 없는 행 { FORMAT($count, spec: ",") }개는 뺐어요.
