summary = 요약
summary-title = 텍스트 요약하기
summary-lead = 텍스트를 붙여 넣어 보세요. 요약으로 고른 문장을 표시하고, 비교할 수 있게 맨 앞 문장들도 표시해요.
summary-about = 문장마다 벡터를 만들고, 다른 문장들과 벡터가 비슷할수록 텍스트에 자주 나오는 내용을 담은 중심 문장으로 봐요. 내용이 서로 겹치지 않는 중심 문장을 모으면 추출 요약이 돼요. 요약 문장이 표시된 문서로 파인튜닝한 체크포인트(`bertlab finetune custom --type summarisation`)는 벡터를 비교하는 대신 문장마다 직접 점수를 매겨요. 기사에서는 맨 앞 문장들도 고른 문장들만큼 좋은 요약일 때가 많으니, 둘을 비교해 보고 참조 요약이 있으면 참조 요약과도 비교해 보세요.
summary-try = 첫 문장을 맨 뒤로 옮기고, 그래도 요약에 들어가는지 보세요.
start-summary = 텍스트를 요약하는 문장을 표시해요.

summary-document = 텍스트
summary-count = 문장 수
summary-diversity = 비슷한 문장 피하기
summary-diversity-help = 0이면 중심성만 보고 골라요. 값이 클수록 이미 고른 문장과 비슷한 문장이 밀려나요.
summary-diversity-unused = 요약 문장이 표시된 문서로 파인튜닝한 체크포인트에서는 이 값을 쓰지 않아요. 이미 고른 문장과 연속된 세 단어가 겹치는 문장만 빼요.
summary-empty = 아직 문장이 없어요. 여러 문장으로 된 텍스트를 붙여 넣어 주세요.
summary-single = 문장이 하나뿐이라 고를 것이 없어요.
summary-too-long = 문장이 { FORMAT($count, spec: ",") }개라서 앞의 { FORMAT($limit, spec: ",") }개만 써요. 더 긴 텍스트에는 `bertlab summary`를 쓰세요.
summary-mixed = 문장 { FORMAT($count, spec: ",") }개는 나머지와 언어가 달라서 중심성을 믿기 어려워요.
summary-untrained = { $checkpoint } 체크포인트는 문장 벡터를 만들도록 학습하지 않아서, 고른 결과가 좋지 않을 수 있어요.
summary-learned = { $checkpoint } 체크포인트는 요약 문장이 표시된 문서로 파인튜닝했어요. 문장마다 요약에 들어갈 확률로 점수를 매겨요.
summary-cut = 문장 { FORMAT($count, spec: ",") }개는 체크포인트가 읽는 길이보다 길어서 뒷부분을 뺐어요.
summary-fewer = 나머지 문장은 모두 고른 문장과 연속된 세 단어가 겹쳐서 문장을 { $chosen }개만 골랐어요.
summary-repeated = { $more ->
        [0] { $numbers }번 문장은 고른 문장과 연속된 세 단어가 겹쳐서 뺐어요.
       *[other] { $numbers }번 등 문장 { FORMAT($count, spec: ",") }개는 고른 문장과 연속된 세 단어가 겹쳐서 뺐어요.
    }
summary-progress = 벡터 계산 중: { $done }/{ $of }
summary-legend = 파란색은 고른 문장이고, 문장 끝의 숫자는 중심성이에요. 위에 점선이 있는 문장은 텍스트의 맨 앞 문장들이에요. 문장을 가리키면 번호와 중심성이 나와요.
summary-legend-learned = 파란색은 고른 문장이고, 문장 끝의 숫자는 점수예요. 위에 점선이 있는 문장은 텍스트의 맨 앞 문장들이에요. 문장을 가리키면 번호와 점수가 나와요.
summary-chosen = 중심 문장
summary-best = 점수가 큰 문장
summary-first = 맨 앞 문장
summary-number = 번호
summary-sentence = 문장
summary-centrality = 중심성
summary-score = 점수
summary-is-chosen = 고름
summary-overlap = { $shared ->
        [0] 고른 문장 가운데 맨 앞 { $count }문장에 드는 것은 없어요.
       *[other] 고른 문장 가운데 { $shared }개가 맨 앞 { $count }문장에 들어요.
    } 고른 문장과 맨 앞 문장 중 어느 쪽이 더 좋은 요약인지는 참조 요약이 있어야 알 수 있어요.
summary-reference = 참조 요약(선택)
summary-reference-placeholder = 사람이 쓴 요약을 넣으면 고른 문장과 맨 앞 문장을 각각 그 요약과 비교해요
summary-metric = F1
