wordpiece = WordPiece
wordpiece-title = WordPiece, step by step
wordpiece-lead = BERT reads tokens, not words. Type a word and see how it is split.
wordpiece-about = The vocabulary has a fixed number of tokens, and these must be enough to write every text, so a rare word is split into several tokens. The table shows the search for the longest piece, step by step. Further down you can see which merges made the tokens, and how another vocabulary splits the same text.
wordpiece-try = Type a word that you invented, and then one in another language.
start-wordpiece = See how a word is split into tokens.
wordpiece-text = Word or short text
wordpiece-search = Search
wordpiece-merges = Merges
wordpiece-compare = Two vocabularies
wordpiece-positions = Positions
wordpiece-search-lead = BERT splits a word from left to right. At each step it looks in the vocabulary for the longest token that matches the beginning of the part that is not split yet. Crossed-out candidates are not in the vocabulary. Tokens that continue a word begin with ##.
wordpiece-merges-lead = The vocabulary was built by starting with single characters and joining the most frequent pair again and again. The list shows the merges that built the tokens of this text, in the order in which they were made; number 1 was the very first merge.
wordpiece-compare-lead = Two vocabularies split the same text. The fewer tokens a vocabulary needs per word, the better it suits the text.
wordpiece-positions-lead = BERT adds a learned vector for each position. Two vectors are similar (blue) if the positions are close: BERT learned this from text, while the original Transformer computes position vectors from sines and cosines.
wordpiece-order-unknown = The order of the merges is unknown: bertlab did not train this vocabulary, or added tokens to it later, so its token ids do not show the order. Choose the checkpoint *scratch* or *korean* to see merges.
wordpiece-words-shown = The first { $shown } of { $total } words are shown.
wordpiece-other = Second vocabulary
wordpiece-vocabulary = { $name } ({ $size } tokens in the vocabulary): { $count ->
        [one] 1 token
       *[other] { $count } tokens
    }
