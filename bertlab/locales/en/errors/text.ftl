text-empty = the text is empty: type some words
text-too-long = the text has { $tokens } tokens, the model reads at most { $limit }: shorten it
invalid-row = { $source } row { FORMAT($row, spec: ",") }: { $reason }
invalid-row-with-id = { $source } row { FORMAT($row, spec: ",") } (id { $id }): { $reason }
invalid-row-stops = { $error } (--invalid skip leaves out what cannot be used)
row-without-text = has no text
text-not-a-string = a text must be a string: pass one text at a time

# tokenizers
tokenizer-missing = { $path } has no tokenizer: there is neither tokenizer.json nor vocab.txt
tokenizer-no-model = { $path } is damaged: it holds no tokenizer model
tokenizer-not-wordpiece = { $path } is a tokenizer of type { $type }; bertlab reads BERT's WordPiece
tokenizer-vocab-invalid = { $path } is damaged: its vocabulary is empty, or is not a table of token ids
tokenizer-added-tokens-invalid = { $path } is damaged: added_tokens is not a list of tokens with ids
tokenizer-part-unknown = { $path } has a { $part } of type { $type }, which BERT tokenizers do not have
tokenizer-setting-invalid = { $path } has { $name } = { $value }, which a BERT tokenizer cannot have
tokenizer-damaged = { $path } is damaged: { $reason }
tokenizer-failed = the tokenizer failed on this text: { $reason }
vocab-empty = { $path } is empty: expected one token per line
vocab-token-repeated = { $path } is damaged: the token { $token } appears { $times } times
vocab-special-tokens-missing = { $path } is not a BERT vocabulary: it has no { $tokens }
vocab-lacks-special-tokens = the tokenizer is not BERT's: its vocabulary has no { $tokens }
vocab-ids-not-consecutive = the vocabulary has { $tokens } tokens, but their ids are not 0 to { $last }
vocab-cased = { $path } has tokens with capitals, such as { $token }, which an uncased tokenizer never produces: read it as cased
vocab-syllables-split = { $path } has tokens such as { $token }, which an uncased tokenizer takes apart with the accents: read it as cased
vocab-no-text = there is no text to learn a vocabulary from
vocab-accents-split-syllables = an uncased vocabulary strips accents, which takes Hangul syllables apart: use a cased one (--cased)
vocab-size-too-small = a vocabulary of { $size } tokens is too small: the alphabet of this text alone needs { $smallest }
