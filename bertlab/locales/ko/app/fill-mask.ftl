fill-mask = 빈칸 채우기
fill-mask-title = 가린 단어 예측하기
fill-mask-lead = 단어를 누르면 가려지고 BERT의 예측이 나와요. 다시 누르면 단어가 보여요.
fill-mask-about = BERT는 양쪽 단어를 보고 가린 단어를 예측해요. 막대는 어휘 집합 전체에서 확률이 가장 높은 토큰들을 나타내요. 원래 단어의 확률이 낮아도 틀렸다고 할 수는 없어요. 어울리는 단어가 여럿일 수 있어요.
fill-mask-try = 단어 하나를 가린 다음, 다른 단어를 바꿔서 1순위 예측이 달라지게 해 보세요.
fill-mask-text = 텍스트
fill-mask-text-help = [MASK]를 직접 입력해도 돼요.
fill-mask-reset = 가린 단어 모두 되돌리기
fill-mask-candidate-count = 보여 줄 예측 수
fill-mask-no-mask = 위에서 단어를 눌러 가려 보세요.
fill-mask-empty = 텍스트가 비어 있어요. 단어를 입력하세요.
fill-mask-masked-word = 가린 단어: “{ $word }”
fill-mask-mask-number = { $number }번째 [MASK]
fill-mask-second = 두 번째 문장
fill-mask-word-probability = “{ $word }”의 확률: { $probability }, 순위 { $rank }위, −ln p = { FORMAT($loss, spec: ".2f") }
fill-mask-word-not-one-token = 이 어휘 집합에는 “{ $word }” 전체를 나타내는 토큰이 없어서 확률을 계산할 수 없어요.
