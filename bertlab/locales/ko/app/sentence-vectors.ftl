sentences = 문장 벡터
sentences-title = 문장을 벡터로
sentences-lead = 기사 제목 같은 짧은 글을 한 줄에 하나씩 붙여 넣어 보세요. 한 줄이 벡터 하나가 되고, 비슷한 줄은 비슷한 벡터가 돼요. 군집, 이웃, 중복을 볼 수 있어요.
sentences-about = BERT는 토큰마다 벡터를 만들어요. 이 벡터들의 평균이 문장 전체를 나타내는 문장 벡터예요. 문장 쌍으로 파인튜닝하면, 두 문장 벡터의 코사인으로 두 문장의 뜻이 얼마나 비슷한지 알 수 있어요. 지도는 벡터를 2차원에 놓은 것이고, 군집은 여러 줄의 벡터가 가까이 모인 곳이에요.
sentences-try = 한 줄을 다른 말로 바꿔서 새 줄로 적어 보세요. 새 줄이 원래 줄의 이웃에 나오나요?
start-sentences = 짧은 텍스트 여러 개를 벡터로 바꿔 군집, 이웃, 중복을 봐요.

sentences-lines = 한 줄에 텍스트 하나씩
sentences-upload = 또는 파일 올리기
sentences-upload-help = 텍스트, CSV, TSV, JSON Lines, Parquet 파일에서 { FORMAT($limit, spec: ",") }줄까지 읽어요. 데이터는 이 컴퓨터 밖으로 나가지 않아요.
sentences-too-many = { FORMAT($count, spec: ",") }줄은 한 번에 보기에 너무 많아서 앞의 { FORMAT($limit, spec: ",") }줄만 써요. 더 많으면 `bertlab cluster`를 쓰세요.
sentences-too-few = { $count ->
        [0] 두 줄 이상 붙여 넣거나 파일을 올려 주세요.
        [1] 한 줄뿐이라 비교할 것이 없어요. 한 줄 더 넣어 주세요.
       *[other] { $count }줄뿐이에요.
    }
sentences-all-equal = { FORMAT($count, spec: ",") }줄이 모두 같아서 벡터도 하나예요. 점 하나만 보이고 군집은 없어요.
sentences-progress = 벡터 계산 중: { $done }/{ $of }
sentences-untrained-page = { $checkpoint } 체크포인트는 문장 벡터를 만들도록 학습하지 않아서, 상관없는 줄끼리도 코사인이 커요. 코사인은 값 하나만 보지 말고 다른 코사인과 비교하고, ‘최소 코사인’을 높게 잡으세요.
sentences-cut = { FORMAT($count, spec: ",") }줄은 체크포인트가 읽는 길이보다 길어서 뒷부분을 뺐어요.
sentences-unreadable-page = { FORMAT($count, spec: ",") }줄은 { $checkpoint } 체크포인트가 읽지 못하는 언어나 문자로 되어 있어서 벡터를 믿기 어려워요. 그래서 군집에 넣지 않고, 똑같은 줄만 중복으로 봐요.
sentences-map-method = 지도 그리는 방법
sentences-map-tsne = t-SNE
sentences-map-pca = PCA
sentences-map-umap = UMAP
sentences-map-progress = 군집을 찾고 지도를 그리는 중 …
sentences-map-help = { $clusters ->
        [0] 군집이 없어요.
       *[other] 군집 { FORMAT($clusters, spec: ",") }개. { FORMAT($total, spec: ",") }줄 가운데 { FORMAT($outside, spec: ",") }줄은 어느 군집에도 들지 않아요.
    } 점들을 선으로 둘러싸거나 점 하나를 누르면 그 점의 텍스트가 아래에 나와요.
sentences-min-size = 군집의 최소 크기
sentences-min-size-help = 몇 줄부터 군집으로 볼지 정해요. “자동”이면 줄 수에 따라 정해요.
sentences-min-size-auto = 자동
sentences-view = 보기
sentences-view-selection = 줄 목록
sentences-view-neighbours = 이웃
sentences-view-similar = 중복
sentences-view-matrix = 행렬
sentences-group = 목록에 넣을 줄
sentences-group-lasso = 지도에서 고른 줄
sentences-group-all = 모든 줄
sentences-group-none = 군집 없음 ({ $count })
sentences-group-empty = 고른 줄이 없어요. 지도에서 점들을 선으로 둘러싸거나, 여기에서 군집을 고르세요.
sentences-line = 줄
sentences-threshold = 최소 코사인
sentences-threshold-help = 코사인이 이 값 이상이면 중복으로 봐요. A와 B가 중복이고 B와 C도 중복이면 A, B, C가 한 묶음이 돼요.
sentences-pairs = { $pairs ->
        [0] 코사인이 이 값 이상인 두 줄이 없어요.
       *[other] 중복 { FORMAT($pairs, spec: ",") }쌍({ FORMAT($groups, spec: ",") }묶음)
    }
sentences-matrix-help = 행과 열은 모두 텍스트의 줄이고, 순서도 텍스트와 같아요. 칸을 가리키면 그 칸의 두 줄이 보여요.
sentences-matrix-overview = 행렬에는 { $limit }줄까지만 그릴 수 있어서, 칸마다 두 군집의 줄들 사이 코사인을 평균한 값을 보여 줘요.
sentences-matrix-none = 행렬에는 { $limit }줄까지만 그릴 수 있어요. 줄이 더 많으면 군집끼리 비교하는데, 찾은 군집이 없어요.
sentences-column-number = 번호
sentences-column-line = 줄
sentences-column-words = 군집
sentences-column-group = 묶음
sentences-column-cosine = 코사인
