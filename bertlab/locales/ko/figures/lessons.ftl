# `notebooks`의 연습 문제를 확인할 때 나오는 문장.
lesson-not-answered = 연습 { $number }: 아직 답이 없어요. 위 셀의 점 세 개(...)를 답으로 바꾸고, 위 셀과 이 셀을 차례로 실행해 보세요.
lesson-not-yet = 연습 { $number }: 아직 정답이 아니에요. { $advice }
lesson-correct = 연습 { $number }: 맞았어요.
lesson-without-checks = 답을 확인하는 코드는 bertlab 저장소의 notebooks/src에 있는데, 여기에는 없어요. 저장소를 복제해서 `make lab`으로 여세요.
