figure-split-test = 테스트 세트
figure-split-dev = 개발 세트
figure-split-validation = 직접 얻은 결과, 검증 데이터
