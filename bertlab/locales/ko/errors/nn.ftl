## 개입

position-out-of-range = { $position }번 위치는 없어요. 위치는 0번부터 { $last }번까지 있어요.
head-scale-shape = head_scale_LBN의 모양이 { $shape }인데, 이 모델에서는 { $expected }이어야 해요.
head-scale-rows = head_scale_LBN에는 배치의 텍스트마다 한 행씩 { $expected }행이 있어야 하는데 { $rows }행이 있어요.
attention-row-shape = 어텐션 행의 모양이 { $shape }인데, 마지막 차원은 토큰 수인 { $expected }이어야 해요.
hidden-state-shape = 은닉 상태의 모양이 { $shape }인데, 마지막 차원은 은닉 차원인 { $expected }이어야 해요.

## 출력층

labels-missing = 이 출력층에는 레이블이 필요한데 설정에 레이블 이름이 없어요.
head-missing = 이 체크포인트에는 { $head } 출력층이 없어요. { $remedy }
head-mlm-causal = 이 체크포인트는 다음 토큰을 예측하도록 학습해서 빈칸을 채울 수 없어요. 양방향 어텐션을 쓰는 체크포인트를 골라 주세요.
head-mlm = 마스크 언어 모델(MLM)
head-nsp = 다음 문장 예측(NSP)
head-span = 질문 답변(span)
head-classify = 분류
head-regress = 회귀
head-choose = 선다형
head-tag = 태깅
head-rtd = 교체된 토큰 탐지(RTD)
head-summarise = 요약(문장 점수)
head-remedy-pretrain = `bertlab pretrain --from ...`으로 이어서 사전 학습하면 생겨요.
head-remedy-electra = 이 출력층이 있는 ELECTRA 판별기(discriminator)를 써 주세요.
# the Korean task of the same type stands in for an English one
head-remedy-finetune = 예를 들어 `bertlab finetune { $task ->
        [sst2] nsmc
        [squad] korquad
        [stsb] klue_sts
        [conll2003] klue_ner
       *[other] { $task }
    } --from ...`으로 파인튜닝하면 생겨요.
