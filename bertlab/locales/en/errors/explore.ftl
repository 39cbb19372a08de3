## Interventions

intervention-unreadable = the change '{ $part }' cannot be read: write 0.3 for head 3 of layer 0, or 4 for layer 4
heads-unreadable = '{ $text }' is not a list of heads: write LAYER.HEAD, separated by commas, such as 0.3,2.11
attention-row-without-weight = a row of attention needs a weight of more than 0 for at least one position
patch-without-text = activation patching takes a hidden state from another text: add that text
patch-lengths-differ = the two texts have { $tokens } and { $other } tokens, so not every position can be patched: choose one position in each text
patch-position-missing = there is no position { $position } in the other text: positions are counted from 0 to { $last }

## Texts

second-text-empty = the second text is empty: type some words
second-text-missing = { $prediction } needs two texts: add a second text
pair-without-token-types = this model has one token type and cannot tell two texts apart: give a single text
block-of-other-layers = this page shows the steps of a BERT layer, but the layers of this checkpoint ({ $type }) have other steps: choose a checkpoint of a BERT, RoBERTa, DistilBERT, ELECTRA or ALBERT
positions-rotary = this checkpoint ({ $type }) has no position vectors: instead, it rotates queries and keys by an angle that depends on the position
prune-unsupported = heads of this checkpoint ({ $type }) cannot be pruned: its layers share their weights, or are not built like those of BERT
mask-missing = there is no [MASK]: write [MASK] in place of the word to predict
mask-out-of-range = there is no [MASK] { $mask }: masks are counted from 0 to { $last }
mask-span-invalid = characters { $start } to { $end } cannot be masked: they are outside the text or overlap another mask
prediction-unknown = { $prediction } is not a kind of prediction: choose one of { $predictions }
window-out-of-range = there is no window { $window }: windows are counted from 0 to { $last }
window-without-characters = window { $window } does not contain the characters { $start } to { $end }

## Writing aids

writing-masking-unknown = { $masking } is not a way of masking: choose one of { $known }
writing-word-missing = there is no word { $index }: words are counted from 0 to { $last }

## Comparisons and snapshots

compare-nothing-shared = the two inputs have no token in common except [CLS] and [SEP], so there is nothing to compare
timeline-text-too-long = the text has { $tokens } tokens: with { $snapshots } snapshots of { $heads } heads, the time machine shows at most { $limit } tokens
snapshots-vocabularies-differ = { $first } and { $second } have different vocabularies, so they are not snapshots of one run
snapshots-sizes-differ = { $first } and { $second } have different sizes ({ $first_size } and { $second_size } layers x heads), so they are not snapshots of one run
too-few-choices = give at least two continuations to choose from
embed-needs-list = embed expects a list of texts: put a single text into a list

## Pre-training by hand

text-too-short-for-pair = the text has only one token: a pair needs at least two, so type some more words
pair-objective-unknown = pairs cannot be drawn for the objective { $objective }: choose one of { $objectives }
no-candidates = type at least one candidate for the second sentence
text-without-tokens = text { $row } has no characters that the model can read: remove it
file-without-texts = { $path } has no text
vectors-suffix-unknown = { $path } must end in { $suffixes }
