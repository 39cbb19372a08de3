bertviz-text-too-long = 텍스트에 토큰이 { $tokens }개 있는데 bertviz의 이 보기는 { $limit }개까지만 보여 줘요. bertviz 대신 ‘헤드’를 고르세요.
bertviz-incomplete = 설치된 bertviz에 { $name } 파일이 없어요. bertviz 1.4 이상을 설치하세요.
view-shape-mismatch = 토큰 수({ $tokens })와 배열의 모양({ $shape })이 맞지 않아요. session이 돌려준 결과를 그대로 넘겨 주세요.
view-payload-invalid = bertlab 시각화의 데이터가 아니에요. bertlab이 만든 데이터를 그대로 넘겨 주세요.
compare-layers-differ = 비교하는 두 모델의 레이어 수나 은닉 차원이 달라서 레이어를 짝지을 수 없어요. layer_similarity로 비교해 주세요.
link-too-long-for-qr-code = 이 페이지의 링크가 너무 길어서 QR 코드로 만들 수 없어요. 텍스트를 줄이거나 링크를 복사하세요.
live-tokenizer-unsupported = { $name }의 토크나이저에는 이 페이지가 자바스크립트로 똑같이 할 수 없는 단계가 있어요. BERT의 정규화와 WordPiece를 쓰는 체크포인트를 내보내세요.
live-file-exists = { $path } 파일이 이미 있어요. 다른 이름을 쓰거나 --replace를 붙이세요.
