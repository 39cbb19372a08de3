fill-mask = Fill mask
fill-mask-title = Predict a masked word
fill-mask-lead = Click a word to mask it and see what BERT predicts. Click it again to unmask it.
fill-mask-text = Text
fill-mask-text-help = You can also type [MASK] yourself.
fill-mask-reset = Unmask all words
fill-mask-candidate-count = Predictions shown
fill-mask-no-mask = Click a word above to mask it.
fill-mask-empty = The text is empty: type some words.
fill-mask-masked-word = “{ $word }” is masked
fill-mask-mask-number = [MASK] number { $number }
fill-mask-second = Second sentence
fill-mask-word-probability = “{ $word }” itself: { $probability }, rank { $rank }, −ln p = { FORMAT($loss, spec: ".2f") }
fill-mask-word-not-one-token = “{ $word }” is not a single token of this vocabulary, so it has no probability here.
