labelled-rows-not-found = { $path }: 그런 파일이나 폴더가 없어요. 경로를 확인해 주세요.
run-not-found = { $path }: 학습 기록이 없어요. bertlab pretrain이 --out으로 저장한 폴더를 입력해 주세요.
path-not-allowed = { $path }: 열 수 없어요. 이 앱은 함께 제공되는 파일, 학습 기록 폴더, 앱 관리자가 --allow로 허용한 폴더만 열어요.
checkpoint-not-allowed = { $name }: 열 수 없어요. 이 앱은 함께 제공되는 체크포인트, 학습 기록 폴더, 앱 관리자가 --allow나 --allow-hub로 허용한 것만 열어요.
unexpected-error-on-page = 예상하지 못한 오류가 생겼어요. bertlab의 버그예요. 앱 관리자가 오류 로그에서 ID { $id }로 자세한 내용을 찾을 수 있어요.
evaluation-stopped-at-invalid-row = { $error } (‘잘못된 행 건너뛰기’를 켜면 이런 행을 빼고 평가해요)

## bertlab app

app-files-missing = 앱 파일이 없어요. bertlab을 다시 설치해 주세요.
app-needs-streamlit = 앱을 열려면 streamlit이 필요해요: pip install streamlit
app-port-invalid = { $port }번은 올바른 포트가 아니에요. 1부터 65535까지의 번호를 골라 주세요.
app-port-in-use = { $port }번 포트는 이미 쓰이고 있어요. --port로 다른 포트를 골라 주세요.
app-directory-not-found = --allow { $path }: 그런 폴더가 없어요.

# 파일 전체를 예측하는 작업
file-job-owner = 파일 전체를 예측하는 작업
file-job-busy = { $title } 파일을 처리하고 있어요. 끝날 때까지 기다리거나 취소해 주세요.
file-job-too-many = 파일이 { $limit }개나 남아 있어요. 먼저 하나를 지워 주세요.
file-job-not-found = 그런 파일이 없거나 누군가 지웠어요. 다시 올려 주세요.
file-job-damaged = { $path }에 있는 작업의 설정이 손상됐어요. 파일을 다시 올려 주세요.
file-job-too-large = { $path } 파일의 내용이 { $megabytes }MB를 넘어요. 작은 파일로 나눠 주세요.
file-job-too-many-rows = { $path } 파일이 { FORMAT($limit, spec: ",") }행을 넘어요. 작은 파일로 나눠 주세요.
file-job-too-many-columns = { $path } 파일의 열이 { $limit }개를 넘어요. 필요 없는 열을 지워 주세요.
file-job-text-unknown = 텍스트에 체크포인트가 아는 토큰이 하나도 없어요
file-job-text-too-long = 텍스트가 { FORMAT($count, spec: ",") }자예요. { FORMAT($limit, spec: ",") }자까지만 읽으니 줄여 주세요.
