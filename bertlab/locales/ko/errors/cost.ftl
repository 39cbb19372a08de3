cost-batch-invalid = 배치의 시퀀스는 1~{ FORMAT($rows, spec: ",") }개, 시퀀스 하나의 길이는 1~{ FORMAT($tokens, spec: ",") }토큰이어야 해요.
cost-model-invalid = 레이어, 피드포워드 유닛, 어휘 집합의 토큰이 하나 이상 있어야 해요.
cost-model-too-large = 이 모델은 파라미터가 { $limit }개를 넘어요. 크기를 줄이세요.
cost-does-not-fit = 학습 스텝 하나에 메모리가 약 { $needed } GB 필요한데, 이 컴퓨터에는 { $available } GB가 남아 있어요. 배치나 모델을 줄이세요.
cost-measurement-too-long = 측정이 { $minutes }분을 넘을 거예요. 배치나 모델을 줄이세요.
cost-measurement-failed = 학습 스텝이 실패했어요: { $reason }
cost-process-killed = 운영체제가 측정하던 프로세스를 끝냈어요. 아마 메모리가 모자랐을 거예요.
cost-measurement-running = 다른 측정이 진행 중이에요. 끝나면 다시 해 보세요.
