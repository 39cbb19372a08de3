classify = 분류
classify-title = 텍스트 분류
classify-lead = 단어를 바꾸면서 확률이 어떻게 달라지는지 보세요. 두 텍스트를 비교하는 체크포인트에는 두 번째 텍스트도 입력하세요.
classify-about = 출력층이 [CLS] 벡터를 받아 레이블마다 확률을 계산해요. 이 출력층은 레이블이 있는 텍스트(예: 영화 리뷰)로 학습했어요. 단어의 색은 그 단어를 가렸을 때 확률이 얼마나 달라지는지 나타내요.
classify-try = 나쁜 뜻의 단어로 칭찬하는 문장을 써 보세요.
start-classify = 입력하는 대로 텍스트를 분류해요.
classify-text = 텍스트
classify-pair = 두 번째 텍스트
classify-trained-on-single-texts = 이 체크포인트는 텍스트 하나를 분류하도록 파인튜닝했어요.
classify-add-second-text = 두 번째 텍스트 추가
classify-second-text-missing = 이 체크포인트는 두 텍스트를 비교해요. 두 번째 텍스트를 입력하세요.
classify-words = 어떤 단어가 중요한가요?
classify-words-help = 단어를 하나씩 가리고 다시 계산한 결과예요. 파란색 실선: 가리면 레이블의 확률이 낮아지는 단어예요. 주황색 점선: 가리면 확률이 높아지는 단어예요. 여러 단어가 함께 내는 효과는 측정하지 않아요.
classify-value-title = 값 예측
classify-value-lead = 단어를 바꾸면서 값이 어떻게 달라지는지 보세요.
classify-value-words = 어떤 단어가 값을 올리고 내리나요?
classify-value-words-help = 단어를 하나씩 가리고 다시 계산한 결과예요. 파란색 실선: 값을 올리는 단어예요. 주황색 점선: 값을 내리는 단어예요. 여러 단어가 함께 내는 효과는 측정하지 않아요.
classify-measure-words = { $count ->
        [1] 단어의 효과 측정하기
       *[other] 전체 단어 { $count }개의 효과 측정하기
    }
classify-log-odds-axis = 가렸을 때 로그 오즈 감소량
classify-value-axis = 가렸을 때 값의 감소량
classify-value-range = { FORMAT($low, spec: ".4g") }~{ FORMAT($high, spec: ".4g") } 범위의 값으로 학습했어요
tag = 개체명 태깅
tag-title = 텍스트에서 개체명 찾기
tag-lead = 모델이 단어마다 태그를 붙이고 사람, 장소, 단체의 이름을 표시해요. 표시된 이름에 마우스를 올리면 태그와 확률이 보여요.
tag-about = 단어마다 태그가 붙어요. B는 이름의 시작, I는 이름의 나머지, O는 이름이 아닌 단어예요. 출력층이 각 토큰의 마지막 은닉 상태를 받아 태그를 예측해요. 여러 토큰으로 된 단어에는 첫 토큰의 태그를 붙여요.
tag-try = 사람 이름이면서 지명이기도 한 이름을 써 보세요.
start-tag = 텍스트에서 이름을 찾아 표시해요.
tag-text = 텍스트
tag-no-names = 이 텍스트에서는 개체명을 찾지 못했어요.
tag-hint = 표시된 이름에 마우스를 올리거나 Tab 키로 이동하면 태그별 확률이 보여요.
tag-entity = 개체명
tag-entity-type = 유형
tag-probability = 확률
tag-all-tags = 모든 단어의 태그별 확률
tag-all-token-tags = 모든 토큰의 태그별 확률
tag-unit = 그림의 단위
tag-unit-word = 단어(어절)
tag-unit-token = 토큰
tag-unit-hint = 여기서 단어는 어절이고, 어절의 태그는 첫 토큰의 태그예요. 한국어에서는 이름과 조사가 한 어절이고, 어절 안에서 조사 토큰의 태그는 이름 토큰의 태그와 달라요.
batch = 여러 텍스트 한꺼번에 예측하기
batch-paste = 한 줄에 텍스트 하나씩, 또는 표를 붙여 넣기
batch-paste-help = 한 줄에 텍스트를 하나씩 넣거나, 스프레드시트나 CSV 파일의 표를 붙여 넣으세요. 표의 첫 줄에는 열 이름이 있어야 해요.
batch-table = { $rows }행 { $columns }열의 표로 읽었어요. 첫 줄은 열 이름이에요.
batch-table-without-header = 줄마다 탭이 있어서 { $rows }행 { $columns }열의 표로 읽었어요. "text"나 "sentence"라는 열 이름이 없어서 첫 줄도 데이터로 읽었어요.
batch-upload = 또는 표 파일 올리기
batch-empty = 텍스트나 표를 붙여 넣거나 CSV, TSV, JSON Lines, Parquet 파일을 올리세요. 데이터는 이 컴퓨터 밖으로 나가지 않아요.
batch-empty-paste = 텍스트나 표를 붙여 넣으세요. 데이터는 이 컴퓨터 밖으로 나가지 않아요. 파일은 아래에서 올릴 수 있어요.
batch-too-many-rows = { FORMAT($count, spec: ",") }행은 한 번에 예측하기에 너무 많아서 앞의 { FORMAT($limit, spec: ",") }행만 예측해요.
batch-empty-texts = { $count ->
        [1] { $first }번째 행에는 텍스트가 없어서 예측 없이 표에 남아요.
       *[other] 텍스트가 없는 행이 { $count }개 있어요. 그중 처음은 { $first }번째 행이에요. 이런 행은 예측 없이 표에 남아요.
    }
batch-failed-rows = { $total }행 중 { $count }행은 예측하지 못했어요. 이유는 오류 열에 있어요.
batch-second-text-missing = 이 체크포인트는 두 텍스트를 비교해요. 두 텍스트가 서로 다른 열에 있는 표를 넣고, 어느 열이 두 번째 텍스트인지 고르세요.
batch-predict = { $count ->
        [1] 예측하기
       *[other] 전체 { $count }개 예측하기
    }
batch-text = 텍스트
batch-predicted = 예측
batch-predicted_entities = 예측한 개체명
batch-predicted_tags = 예측한 태그
batch-probability = 확률
batch-error = 오류
batch-download = CSV로 내려받기
batch-text-column = 텍스트 열
batch-pair-column = 두 번째 텍스트 열
batch-progress = { $of }개 중 { $done }개
