sentence-candidates = { $first }의 확률은 { $second }의 { FORMAT($ratio, spec: ".1f") }배예요. 그림에 있는 토큰 { $count }개의 확률을 더하면 { $shown }예요.
sentence-candidate = { $first }의 확률은 { $shown }예요.
sentence-word-label-falls = 영향이 가장 큰 단어: { $word }. 이 단어를 가리면 { $label }의 로그 오즈가 { FORMAT($effect, spec: ".2f") }만큼 내려가요.
sentence-word-label-rises = 영향이 가장 큰 단어: { $word }. 이 단어를 가리면 { $label }의 로그 오즈가 { FORMAT($effect, spec: ".2f") }만큼 올라가요.
sentence-word-value-falls = 영향이 가장 큰 단어: { $word }. 이 단어를 가리면 값이 { FORMAT($effect, spec: ".2f") }만큼 내려가요.
sentence-word-value-rises = 영향이 가장 큰 단어: { $word }. 이 단어를 가리면 값이 { FORMAT($effect, spec: ".2f") }만큼 올라가요.
sentence-token-rates = 단어 하나에 필요한 토큰: { $few } { FORMAT($low, spec: ".1f") }개, { $many } { FORMAT($high, spec: ".1f") }개. { FORMAT($ratio, spec: ".1f") }배 차이예요.
sentence-token-rates-equal = 두 어휘 집합 모두 단어 하나에 토큰 { FORMAT($rate, spec: ".1f") }개를 써요.
sentence-positions = 학습된 위치 벡터의 평균 코사인 유사도: 이웃한 위치끼리 { FORMAT($near, spec: ".2f") }, { $distance }칸 떨어진 위치끼리 { FORMAT($distant, spec: ".2f") }.
sentence-embeddings = 벡터의 평균 길이: 토큰 { FORMAT($token, spec: ".2f") }, 위치 { FORMAT($position, spec: ".2f") }, 세그먼트 { FORMAT($segment, spec: ".2f") }.
sentence-ranking = 다음 문장일 확률은 후보 { $best }번이 가장 높고({ $high }), 후보 { $worst }번이 가장 낮아요({ $low }).
sentence-ranking-one = 후보 { $best }번이 다음 문장일 확률은 { $high }예요.
sentence-tags = 가장 불확실한 단어: { $word }. 태그 { $tag }의 확률이 { $share }예요.
sentence-span = 답이 시작할 확률이 가장 높은 단어: { $start }({ $start_share }). 끝날 확률이 가장 높은 단어: { $end }({ $end_share }).
sentence-lens = { $layer }번 레이어를 지나면 위치 { $total }곳 중 { $settled }곳에서 이미 마지막 레이어와 같은 토큰을 예측해요.
sentence-lens-at = { $layer }번 레이어부터 계속 1위: { $word }.
sentence-lens-at-once = 임베딩에서부터 계속 1위: { $word }.
sentence-head-effects = 가장 도움이 되는 헤드: { $helping }. 끄면 { $label }의 로그 오즈가 { FORMAT($falls, spec: ".2f") }만큼 내려가요. 가장 방해가 되는 헤드: { $hurting }. 끄면 { $label }의 로그 오즈가 { FORMAT($rises, spec: ".2f") }만큼 올라가요.
sentence-head-effects-none-helps = 도움이 되는 헤드가 없어요. 가장 방해가 되는 헤드: { $hurting }. 끄면 { $label }의 로그 오즈가 { FORMAT($rises, spec: ".2f") }만큼 올라가요.
sentence-head-effects-none-hurts = 가장 도움이 되는 헤드: { $helping }. 끄면 { $label }의 로그 오즈가 { FORMAT($falls, spec: ".2f") }만큼 내려가요. 방해가 되는 헤드는 없어요.
sentence-block = { $layer }번 레이어에서 이 토큰에 더해지는 벡터의 길이: 어텐션 { FORMAT($attention, spec: ".1f") }, 피드포워드 { FORMAT($feed_forward, spec: ".1f") }.
sentence-layer-norms = 어텐션이 더하는 벡터는 { $attention_layer }번 레이어에서 가장 길고(길이 { FORMAT($attention, spec: ".1f") }), 피드포워드가 더하는 벡터는 { $feed_forward_layer }번 레이어에서 가장 길어요(길이 { FORMAT($feed_forward, spec: ".1f") }).
sentence-predictions = 고른 토큰 { $count }개 중 { $first }개는 원래 토큰이 1위이고, { $among }개는 { $guesses }위 안에 있어요.
sentence-results = 발표된 결과 중 최고: { $best }, { FORMAT($value, spec: ".1f") }.
sentence-results-below = bertlab의 최고 결과: { FORMAT($own_value, spec: ".1f") }({ $ours }). 발표된 최고 결과 { FORMAT($value, spec: ".1f") }({ $best })보다 { FORMAT($difference, spec: ".1f") }점 낮아요.
sentence-results-above = bertlab의 최고 결과: { FORMAT($own_value, spec: ".1f") }({ $ours }). 발표된 최고 결과 { FORMAT($value, spec: ".1f") }({ $best })보다 { FORMAT($difference, spec: ".1f") }점 높아요.
sentence-compared-heads = 어텐션이 가장 많이 달라진 헤드: { $head }(거리 { FORMAT($most, spec: ".2f") }). 헤드 { $total }개 중 { $less }개의 거리는 그 절반보다 작아요.
sentence-compared-heads-equal = 달라진 헤드가 없어요.
sentence-compared-head-more = 헤드 { $head }에서 가장 많이 달라진 어텐션: { $query } → { $key }. { FORMAT($points, spec: ".1f") }퍼센트포인트 늘었어요.
sentence-compared-head-less = 헤드 { $head }에서 가장 많이 달라진 어텐션: { $query } → { $key }. { FORMAT($points, spec: ".1f") }퍼센트포인트 줄었어요.
sentence-compared-head-equal = 헤드 { $head }: 달라진 것이 없어요.
sentence-compared-layers = 은닉 상태는 { $layer }번 레이어를 지난 뒤에 가장 많이 달라요(CKA { FORMAT($cka, spec: ".2f") }).
sentence-compared-embeddings = 임베딩이 가장 많이 달라요(CKA { FORMAT($cka, spec: ".2f") }).
sentence-changed-tokens = 은닉 상태가 가장 많이 달라진 토큰: { $unit }(코사인 거리 { FORMAT($distance, spec: ".2f") }).
sentence-confusion = 가장 잦은 오류: 정답 { $label }, 예측 { $prediction }({ $count }번).
sentence-confusion-none = 이 데이터에는 오류가 없어요.
sentence-parts = 가장 큰 부분: { $part }({ $share }).
sentence-prediction-right = 예측할 토큰은 하나이고, 정답 토큰이 1위예요.
sentence-prediction-wrong = 예측할 토큰은 하나이고, 정답 토큰은 1위가 아니에요.
sentence-curve-lowest = { $split ->
        [held-out] 검증 텍스트에서 가장 낮은
        [smoothed] 학습 중 가장 낮은(평활값 기준)
       *[training] 학습 중 가장 낮은
    } { $metric }: { $run }, { $value }(마지막 값 { $last }).
sentence-curve-lowest-at-end = { $split ->
        [held-out] 검증 텍스트에서 가장 낮은
        [smoothed] 학습 중 가장 낮은(평활값 기준)
       *[training] 학습 중 가장 낮은
    } { $metric }: { $run }, { $value }(곡선의 마지막 값).
sentence-curve-highest = { $split ->
        [held-out] 검증 텍스트에서 가장 높은
        [smoothed] 학습 중 가장 높은(평활값 기준)
       *[training] 학습 중 가장 높은
    } { $metric }: { $run }, { $value }(마지막 값 { $last }).
sentence-curve-highest-at-end = { $split ->
        [held-out] 검증 텍스트에서 가장 높은
        [smoothed] 학습 중 가장 높은(평활값 기준)
       *[training] 학습 중 가장 높은
    } { $metric }: { $run }, { $value }(곡선의 마지막 값).
sentence-timeline-mask = { $word }의 확률: { FORMAT($first, spec: ",") }번째 스텝에서 { $low }, { FORMAT($last, spec: ",") }번째 스텝에서 { $high }. { FORMAT($since, spec: ",") }번째 스텝부터 계속 { $count ->
        [1] [MASK]
       *[other] 첫 [MASK]
    } 자리의 1위예요.
sentence-timeline-mask-one = { FORMAT($step, spec: ",") }번째 스텝에서 { $count ->
        [1] [MASK]
       *[other] 첫 [MASK]
    } 자리의 1위: { $word }({ $share }).
sentence-timeline-pair = B가 A의 다음 문장일 확률은 { FORMAT($first, spec: ",") }번째 스텝에서 { $low }, { FORMAT($last, spec: ",") }번째 스텝에서 { $high }예요.
sentence-timeline-attention = { FORMAT($first, spec: ",") }번째 스텝과 { FORMAT($last, spec: ",") }번째 스텝 사이에 가장 많이 달라진 헤드: { $head }. 평균적으로 어텐션의 { $share }가 다른 토큰으로 옮겨 갔어요.
sentence-groups = F1이 가장 높은 그룹: { $best }({ $high }, 질문 { $best_count }개). 가장 낮은 그룹: { $worst }({ $low }, 질문 { $worst_count }개).
sentence-groups-equal = { $groups ->
        [1] 질문이 모두 한 그룹에 있고, F1은 { $value }예요.
       *[other] 모든 그룹의 F1이 { $value }예요.
    }
sentence-errors = 예측은 정답과 평균 { FORMAT($mean, spec: ".2f") }만큼 달라요. 오차가 가장 큰 행: { $row }(정답 { $label }, 예측 { $prediction }).
sentence-errors-one = 예측 { $prediction }, 정답 { $label }: 둘은 { FORMAT($error, spec: ".2f") }만큼 달라요.
sentence-windows = 점수가 가장 높은 답은 { $best }번 윈도우에 있어요. 이 답의 점수({ $score })는 { $second }번 윈도우의 최고 점수보다 { FORMAT($lead, spec: ".2f") }만큼 높아요. 답 없음 점수는 { $lowest }번 윈도우에서 가장 낮아요({ $no_answer }).
sentence-windows-one-span = 가능한 답은 { $best }번 윈도우에만 있어요(점수 { $score }). 답 없음 점수는 { $lowest }번 윈도우에서 가장 낮아요({ $no_answer }).
sentence-prediction-change-rises = 가장 큰 변화: { $outcome }의 확률이 { FORMAT($points, spec: ".1f") }퍼센트포인트 올라가요.
sentence-prediction-change-falls = 가장 큰 변화: { $outcome }의 확률이 { FORMAT($points, spec: ".1f") }퍼센트포인트 내려가요.
sentence-prediction-change-none = 0.1퍼센트포인트 이상 바뀐 확률이 없어요.
sentence-surprise = 가장 뜻밖의 단어: { $word }({ FORMAT($most, spec: ".2f") }내트). { $misfits ->
        [0] { FORMAT($threshold, spec: ".1f") }내트를 넘는 단어는 없어요.
       *[other] { FORMAT($threshold, spec: ".1f") }내트를 넘는 단어는 { $misfits }개예요.
    } 토큰 { $tokens }개의 합은 { FORMAT($total, spec: ".1f") }내트, 평균은 { FORMAT($mean, spec: ".2f") }내트예요. 의사 퍼플렉시티: { FORMAT($perplexity, spec: ",.1f") }.
sentence-type-ahead = 확률이 가장 높은 다음 단어: { $word }({ $share }). 단어 대신 문장 부호가 바로 올 확률은 { $stop }예요.
sentence-corrections-none = 글자 하나나 띄어쓰기 하나를 고쳐서 이득이 { FORMAT($margin, spec: ".1f") }내트를 넘는 곳은 없어요.
sentence-corrections = 이득이 { FORMAT($margin, spec: ".1f") }내트를 넘는 수정은 { $count }개예요. 이득이 가장 큰 수정: { $original } → { $replacement }({ FORMAT($gain, spec: ".1f") }내트).
