figure-split-test = 테스트 세트
figure-split-dev = 개발 세트
figure-split-validation = bertlab의 결과(검증 데이터)
