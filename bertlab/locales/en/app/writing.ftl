writing = Writing
writing-title = Writing aids
writing-lead = Type a text. See which words do not fit and what would fit better, where a letter or a space may be wrong, and what could come next.
writing-about = BERT masks the tokens of your text one at a time and predicts each token from the others. The surprise of a word is the sum of −ln p over its tokens, where p is the probability of the token. The sum over the whole text, with the sign changed, is the pseudo-log-likelihood of the text. A surprising word is not always an error: names and rare words surprise BERT too.
writing-try = Click an underlined word, choose one of the suggestions, and watch the surprise of its neighbours change.
start-writing = Find words that do not fit, check spelling and spacing, and let BERT suggest the next word.

writing-aid = Aid
writing-aid-surprise = Words that do not fit
writing-aid-next = Next word
writing-text = Text
writing-empty = There is no word yet: type a text.
writing-too-long = This text has { FORMAT($count, spec: ",") } words: only the first { $limit } are read. For longer texts, use `bertlab writing`.
writing-threshold = Underline words with a surprise above (nats)
writing-threshold-help = A word is underlined if its surprise is larger than this value. A surprise of 0 nats means certain, 2.3 nats a probability of 10%, and 9.2 nats a probability of 0.01%.
writing-whole-words = Mask whole words
writing-whole-words-help = If only one token of a word is masked, the other tokens of the word reveal it. With this switch, the later tokens of the word are masked too: the tokens of a word are predicted one after another, while the rest of the text stays visible.
writing-progress = Masking and predicting the tokens: part { $done } of { $of }
writing-legend = The darker a word, the larger its surprise. Underlined: above the threshold. Click a word to see what BERT would expect.
writing-unknown = { $count ->
        [one] 1 word has characters that are not in the vocabulary, so its surprise is only the surprise of [UNK].
       *[other] { $count } words have characters that are not in the vocabulary, so their surprise is only the surprise of [UNK].
    }
writing-word-title = { $word }: { FORMAT($surprise, spec: ".2f") } nats
writing-chosen = “{ $word }”: { FORMAT($surprise, spec: ".2f") } nats. Words that fit better:
writing-proposals-note = A click on a suggestion replaces the word; the undo button restores it. Suggestions are single tokens, so words that the vocabulary splits are never suggested.
writing-no-words = None of the 100 most probable tokens is a whole word.
writing-proposal = { $word } { $probability }
writing-token = Token
writing-tokens = tokens
writing-word = word
writing-misfit = does not fit
writing-probability = Probability
writing-surprise = Surprise (nats)
writing-start = Beginning of a text
writing-start-help = Type ___ or [MASK] where a word is missing.
writing-gap = Gap { $number }
writing-endings = Continuations of the last word
writing-next-words = Next word
writing-last-words = Next word, if the sentence ends after it
writing-left-to-right = BERT reads a text from both sides and was not trained to write from left to right. It predicts a [MASK] after your text, so it is weaker here than a model such as GPT, and often expects the sentence to end.
writing-aid-spelling = Spelling and spacing
writing-margin = Suggest changes that gain more than (nats)
writing-margin-help = The gain is how far the pseudo-log-likelihood of the text rises with the change. With a larger margin, there are fewer suggestions, and a larger share of them is right.
writing-corrections-legend = Struck through: your text. Blue: the suggestion.
writing-correction = { $original } → { $replacement } (+{ FORMAT($gain, spec: ".1f") } nats)
writing-apply-all = Apply all { $count }
writing-corrections-note = The page tries to change the most surprising words: it replaces each of them with every word that differs by one letter, and adds or removes one space. BERT then compares each changed text with yours. There is no dictionary, so a rare name may be “corrected” into a frequent word. BENCHMARKS.md has the precision and recall on text with artificial errors.
