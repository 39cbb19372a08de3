fill-mask = Fill mask
fill-mask-title = Predict a masked word
fill-mask-lead = Click a word to mask it and see what BERT predicts. Click it again to unmask it.
fill-mask-about = BERT predicts a masked word from the words on both sides. The bars show the most probable tokens of the whole vocabulary. A low probability of the original word does not mean that BERT is wrong: several words may fit.
fill-mask-try = Mask a word, then change another word of the sentence so that a different token becomes the most probable one.
fill-mask-text = Text
fill-mask-text-help = You can also type [MASK] yourself.
fill-mask-reset = Unmask all words
fill-mask-candidate-count = Predictions shown
fill-mask-no-mask = Click a word above to mask it.
fill-mask-empty = The text is empty: type some words.
fill-mask-masked-word = “{ $word }” is masked
fill-mask-mask-number = [MASK] number { $number }
fill-mask-second = Second sentence
fill-mask-word-probability = Probability of “{ $word }”: { $probability }, rank { $rank }, −ln p = { FORMAT($loss, spec: ".2f") }
fill-mask-word-not-one-token = “{ $word }” is not a single token of this vocabulary, so it has no probability here.
