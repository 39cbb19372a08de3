checkpoint-name-empty = 체크포인트를 지정해 주세요. 폴더나 google-bert/bert-base-uncased 같은 허브 모델을 쓸 수 있어요.
checkpoint-not-shipped = bertlab이 제공하는 체크포인트가 { $directory } 폴더에 없어요: { $names }. checkpoints/와 runs/가 든 폴더를 환경 변수 { $variable }에 적거나, 체크포인트(폴더나 허브 ID)를 직접 지정하세요.
checkpoint-is-a-file = { $name }: 파일이에요. 체크포인트는 config.json과 model.safetensors가 든 폴더예요.
checkpoint-not-found = { $name }: 그런 폴더가 없어요.
checkpoint-name-mistyped = { $name }: 이 컴퓨터에 그런 체크포인트가 없고, 허브에서도 받지 못했어요. 혹시 { $suggestion }인가요?
run-not-finished = { $path }: 학습이 아직 끝나지 않아 체크포인트가 없어요. 같은 명령을 다시 실행하면 이어서 학습해요.
hub-model-gated = { $name }: 접근이 제한된 모델이에요. 허브에 로그인하고 모델 페이지에서 이용 조건에 동의하세요.
hub-model-not-found = { $name }: 이런 이름의 폴더도, { $shipped }에 있는 bertlab의 체크포인트도, 허브에 공개된 모델도 없어요.
hub-name-invalid = { $name }: 그런 폴더가 없고, 허브 모델의 이름으로도 쓸 수 없어요.
hub-unreachable = { $name }: 이런 이름의 폴더도, { $shipped }에 있는 bertlab의 체크포인트도 없고, 허브에 연결할 수도 없어요.
hub-download-failed = { $name }: 허브에서 내려받지 못했어요. { $reason }
hub-weights-too-large = { $name }: 가중치가 { $size } GB로 한도 { $limit } GB보다 커요. 이름을 확인하거나 환경 변수 { $variable }(GB 단위)의 값을 늘리세요.
hub-limit-invalid = 환경 변수 { $variable }의 값이 { $value }인데, GB 단위의 수여야 해요.
hub-download-size = { $name }의 가중치 { $size } MB를 내려받아요

checkpoint-no-config = { $path }: 체크포인트가 아니에요. config.json이 없어요.
checkpoint-no-weights = { $path }: 가중치가 없어요. model.safetensors도 pytorch_model.bin도 없어요.
checkpoint-unusable = { $name }: 열 수 없어요. { $reason }
checkpoint-tokenizer-of-other = { $name }의 토크나이저가 모델과 맞지 않아요. { $token }의 토큰 ID({ $id })가 config.json의 pad_token_id({ $expected })와 달라요.
checkpoint-token-ids-differ = { $name }의 토크나이저가 모델과 맞지 않아요. config.json에는 { $fields }(으)로 쓰여 있지만, 토크나이저에서 이 토큰들의 ID는 { $ids }예요. 토크나이저가 맞다면 config.json을 고쳐 주세요.
checkpoint-vocabulary-size = { $name }: 열 수 없어요. 어휘 집합은 토큰 { $tokens }개인데 임베딩은 { $rows }행이에요. 서로 다른 모델의 파일이에요.
checkpoint-multi-label = 텍스트 하나에 레이블을 여러 개 붙이는 모델(multi-label)이에요. bertlab은 지원하지 않아요.
config-not-a-bert = { $path }: BERT의 설정이 아니에요. { $reason }
config-value-invalid = { $path }: { $name } 값이 { $value }인데, BERT에는 있을 수 없는 값이에요.
config-architectures-invalid = { $path }: 손상된 파일이에요. architectures가 이름의 목록이 아니에요.
weights-damaged = { $path }: 손상된 파일이에요. { $reason }
sentence-module-unknown = { $path }의 문장 벡터에는 sentence-transformers의 { $module } 모듈이 필요한데, bertlab에는 없어요.
sentence-pooling-unknown = { $path }의 문장 벡터는 { $modes } 풀링을 쓰는데, bertlab에는 없어요.
weights-more-than-tensors = { $path }: 파일이 손상되었거나, 파일에 텐서가 아닌 파이썬 객체가 들어 있어요. bertlab은 이런 객체를 읽지 않아요.
weights-compressed = { $path }: 압축되어 있어요. torch.save는 가중치를 압축해서 저장하지 않아요. bertlab은 이런 파일의 압축을 풀지 않아요.
weights-no-table = { $path }: 텐서 이름과 텐서로 이루어진 딕셔너리가 아니에요.
weights-tensor-not-stored = { $path }: 텐서 { $tensor }의 값이 들어 있지 않아요.
weights-quantised = { $path }: PyTorch로 양자화한 가중치예요. bertlab은 부동소수점 가중치만 읽으니 양자화하기 전의 체크포인트를 써 주세요.
weights-index-invalid = { $path }: 손상된 파일이에요. 파일 이름을 담은 weight_map이 없어요.
weights-not-finite = { $path }: 가중치 { $tensor }에 NaN이나 무한대가 있어요.
weights-of-other-family = config.json의 model_type은 { $type }인데, 텐서 이름의 앞부분({ $name })은 { $other } 체크포인트의 것이에요.
weights-layer-count = config.json에는 레이어가 { $layers }개인데 가중치에는 { $stored }개가 있어요.
weights-classifier-shape = classifier.weight의 모양이 { $shape }인데, 분류기에는 레이블마다 한 행이 있어야 해요.
weights-tensor-missing = 가중치에 { $tensor } 텐서가 없어요. 모양은 { $shape }이어야 해요.
weights-tensor-shape = { $tensor }: 모양이 { $shape }인데 config.json에 따르면 { $expected }이어야 해요.
weights-tensor-type = { $tensor }: 자료형이 { $type }인데, 부동 소수점이어야 해요.
weights-tensor-twice = 가중치에 같은 텐서가 두 가지 이름으로 들어 있어요: { $tensor }, { $alias }
weights-not-tied = { $tensor } 텐서와 { $other } 텐서가 달라요. 이 모델에서는 둘이 같은 텐서여야 해요.
weights-no-pooler = 가중치에 { $head } 출력층은 있는데, 그 출력층이 입력으로 쓰는 풀러가 없어요.
weights-unused = 가중치에 이 모델에는 없는 텐서가 있어요: { $tensors }{ $more ->
    [0] {""}
   *[other] {" "}외 { $more }개
}

checkpoint-target-in-use = { $path }: 체크포인트가 아닌 폴더나 파일이 이미 있어요. 다른 폴더를 고르세요.
checkpoint-several-classifiers = 체크포인트에는 다음 출력층 가운데 하나만 담을 수 있어요: { $heads }
checkpoint-not-saved = 체크포인트를 { $path }에 저장할 수 없어요. { $reason }
weights-overflow = { $tensor }: { $dtype } 자료형으로 나타낼 수 없는 값이 있어요. 학습이 발산했거나 더 넓은 자료형이 필요해요.
average-architectures-differ = 구조가 다른 체크포인트는 평균을 낼 수 없어요. 서로 다른 설정: { $fields }
average-heads-differ = 출력층이 다른 체크포인트는 평균을 낼 수 없어요. 두 체크포인트의 출력층: { $heads } / { $other_heads }
average-vocabularies-differ = 어휘 집합이 다른 체크포인트는 평균을 낼 수 없어요.
shrink-unsupported = 이 체크포인트({ $type })의 레이어, 헤드, 뉴런, 가중치는 가지치기할 수 없어요. 레이어가 가중치를 함께 쓰거나 BERT와 구조가 달라요.
shrink-too-many-layers = 이 체크포인트의 레이어는 { $layers }개라서 { $count }개를 남길 수 없어요.
prune-layer-empty = { $layer }번 레이어에 헤드가 하나도 남지 않아요. 헤드를 하나 이상 남기거나, 헤드를 없애는 대신 헤드의 가중치만 0으로 만드세요(--zeroed).

run-log-not-readable = 로그 { $path }: 읽을 수 없어요. { $reason }
run-no-snapshots = { $path }: 스냅샷이 없어요. 학습은 --no-snapshots를 쓰지 않으면 0, 10, 30, 100, … 스텝에 스냅샷을 남겨요.

# ONNX 파일
onnx-library-missing = ONNX 파일을 쓰려면 onnx와 onnxruntime이 필요해요. pip install "bertlab[onnx]"로 설치하세요.
onnx-not-of-bertlab = { $path }: bertlab이 만든 ONNX 파일이 아니에요. bertlab export --format onnx로 만들어 주세요.
onnx-version-unknown = { $path }: 파일 형식의 버전이 { $version }인데, 이 bertlab은 { $expected } 버전만 열 수 있어요. 원래 체크포인트를 다시 내보내 주세요.
onnx-no-internals = { $name }: ONNX 파일에서는 예측만 할 수 있고, 어텐션, 은닉 상태, 가중치, 그래디언트는 볼 수 없어요. 이 파일을 만든 원래 체크포인트를 여세요.
onnx-sparse = 이 체크포인트({ $type })의 희소 어텐션은 ONNX 파일로 저장할 수 없어요. 다른 계열의 체크포인트를 골라 주세요.
onnx-already = { $name }: 이미 ONNX 파일이에요. 이 파일을 만든 원래 체크포인트를 지정하세요.
onnx-weights-unknown = ONNX 가중치는 { $weights } 자료형으로 저장할 수 없어요. { $types } 중에서 고르세요.
