figure-guesses-people = guesses
figure-guesses-model = BERT
