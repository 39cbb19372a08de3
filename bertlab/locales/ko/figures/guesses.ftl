figure-guesses-people = 사람들의 예측
figure-guesses-model = BERT
