labelled-rows-not-found = { $path }: 그런 파일이나 폴더가 없어요. 경로를 확인해 주세요.
run-not-found = { $path }: 학습 기록이 없어요. bertlab pretrain이 --out으로 저장한 폴더를 입력해 주세요.
