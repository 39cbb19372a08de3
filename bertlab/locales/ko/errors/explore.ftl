## 개입

intervention-unreadable = 변경 '{ $part }'에서 헤드나 레이어를 읽을 수 없어요. 0번 레이어의 3번 헤드는 0.3, 4번 레이어 전체는 4라고 적어 주세요.
heads-unreadable = 헤드 목록을 읽을 수 없어요: '{ $text }'. 0.3,2.11처럼 레이어.헤드를 쉼표로 나누어 적어 주세요.
attention-row-without-weight = 어텐션 행에는 가중치가 0보다 큰 위치가 하나 이상 있어야 해요.
patch-without-text = 패칭할 은닉 상태는 다른 텍스트에서 가져와요. 은닉 상태를 가져올 텍스트를 입력해 주세요.
patch-lengths-differ = 두 텍스트의 토큰이 { $tokens }개와 { $other }개로 달라서 모든 위치를 패칭할 수는 없어요. 텍스트마다 위치를 하나씩 골라 주세요.
patch-position-missing = 은닉 상태를 가져올 텍스트에 { $position }번 위치는 없어요. 위치는 0번부터 { $last }번까지 있어요.

## 텍스트

second-text-empty = 두 번째 텍스트가 비어 있어요. 단어를 입력해 주세요.
second-text-missing = { $prediction }에는 텍스트가 두 개 필요해요. 두 번째 텍스트를 입력해 주세요.
pair-without-token-types = 이 모델은 세그먼트가 하나뿐이라서 두 텍스트를 구분하지 못해요. 텍스트를 하나만 입력해 주세요.
block-of-other-layers = 이 체크포인트({ $type })의 레이어는 계산 단계가 BERT와 달라서 이 페이지에서 보여 줄 수 없어요. BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT 체크포인트를 골라 주세요.
positions-rotary = 이 체크포인트({ $type })에는 위치 벡터가 없어요. 대신 쿼리와 키를 위치에 따라 정해진 각도로 회전시켜요.
prune-unsupported = 이 체크포인트({ $type })의 헤드는 가지치기할 수 없어요. 레이어가 가중치를 함께 쓰거나 BERT와 구조가 달라요.
mask-missing = [MASK]가 없어요. 예측할 단어 자리에 [MASK]를 적어 주세요.
mask-out-of-range = { $mask }번 [MASK]는 없어요. [MASK]는 0번부터 { $last }번까지 있어요.
mask-span-invalid = { $start }번부터 { $end }번까지의 글자는 가릴 수 없어요. 텍스트 밖이거나 다른 빈칸과 겹쳐요.
prediction-unknown = { $prediction }: 이런 종류의 예측은 없어요. 다음 중에서 골라 주세요: { $predictions }
window-out-of-range = { $window }번 윈도우는 없어요. 윈도우는 0번부터 { $last }번까지 있어요.
window-without-characters = { $window }번 윈도우에는 { $start }번부터 { $end }번까지의 글자가 없어요.

## 글쓰기 도우미

writing-masking-unknown = { $masking } 방법으로는 가릴 수 없어요. { $known } 가운데에서 골라 주세요.
writing-word-missing = { $index }번 단어는 없어요. 단어는 0번부터 { $last }번까지 있어요.

## 비교와 스냅샷

compare-nothing-shared = 두 입력에는 [CLS]와 [SEP] 말고 같은 토큰이 없어서 비교할 것이 없어요.
timeline-text-too-long = 텍스트가 { $tokens }토큰이에요. 헤드 { $heads }개짜리 스냅샷이 { $snapshots }개이면 타임머신은 { $limit }토큰까지 보여 줄 수 있어요.
snapshots-vocabularies-differ = 어휘 집합이 서로 달라서 한 학습의 스냅샷이 아니에요: { $first }, { $second }
snapshots-sizes-differ = 크기가 서로 달라서 한 학습의 스냅샷이 아니에요(레이어 x 헤드): { $first }({ $first_size }), { $second }({ $second_size })
too-few-choices = 보기를 두 개 이상 입력해 주세요.
embed-needs-list = embed는 텍스트 목록을 받아요. 텍스트가 하나여도 목록에 넣어 주세요.

## 손으로 해 보는 사전 학습

text-too-short-for-pair = 텍스트에 토큰이 하나뿐이에요. 문장 쌍을 만들려면 두 개 이상 필요하니 단어를 더 입력해 주세요.
pair-objective-unknown = { $objective } 목표로는 문장 쌍을 뽑을 수 없어요. 다음 중에서 골라 주세요: { $objectives }
no-candidates = 두 번째 문장의 후보를 하나 이상 입력해 주세요.
text-without-tokens = { $row }번째 텍스트에 모델이 읽을 수 있는 글자가 없어요. 이 텍스트를 빼 주세요.
file-without-texts = { $path }에 텍스트가 없어요.
vectors-suffix-unknown = { $path }의 이름은 { $suffixes } 가운데 하나로 끝나야 해요.
