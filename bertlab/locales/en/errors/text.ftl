text-empty = the text is empty: type some words
text-too-long = the text has { $tokens } tokens, the model reads at most { $limit }: shorten it
