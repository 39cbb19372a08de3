text-empty = the text is empty: type some words
text-too-long = the text has { $tokens } tokens, but the model reads at most { $limit }: shorten the text
invalid-row = { $source } row { FORMAT($row, spec: ",") }: { $reason }
invalid-row-with-id = { $source } row { FORMAT($row, spec: ",") } (id { $id }): { $reason }
invalid-row-stops = { $error } (use --invalid skip to leave out invalid rows)
row-without-text = has no text
text-not-a-string = a text must be a string: pass one text at a time

# tokenizers
tokenizer-missing = { $path } has no tokenizer: there is neither tokenizer.json nor vocab.txt
tokenizer-no-model = { $path } is damaged: it contains no tokenizer model
tokenizer-type-unknown = { $path } is a tokenizer of type { $type }; bertlab reads WordPiece, BPE and Unigram
tokenizer-file-unread = { $path } has a { $file } but no tokenizer.json, which bertlab needs: open the tokenizer with AutoTokenizer of transformers and save it again
tokenizer-without-search = this checkpoint has a { $kind } vocabulary, but only WordPiece searches for the longest match: choose a checkpoint of a BERT
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
vocab-cased = { $path } has tokens with capitals, such as { $token }, which an uncased tokenizer never produces: read the vocabulary as cased
vocab-syllables-split = { $path } has tokens such as { $token }, which an uncased tokenizer splits when it strips accents: read the vocabulary as cased
vocab-no-text = there is no text to train a vocabulary on
vocab-accents-split-syllables = an uncased vocabulary strips accents, which splits Hangul syllables: use a cased one (--cased)
vocab-size-too-small = a vocabulary size of { $size } is too small: the alphabet of this text alone needs { $smallest } tokens
row-without-column = has no column "{ $column }"; its columns are { $columns }: name the column of the text with --column
row-value-not-text = has a value of type { $type } instead of text in column "{ $column }"
row-without-id = has no id in column "{ $column }"
row-id-invalid = has an id in column "{ $column }" that is not valid Unicode
row-not-json = is not JSON: { $reason }
row-json-too-deep = is JSON with too many levels
row-integer-too-long = has an integer with too many digits
row-not-an-object = is not a JSON object but { $type }
row-column-name-invalid = has a column name that is not valid Unicode
row-not-decodable = is not valid { $encoding }: byte { $byte } is { $value }
row-field-count = has { $fields ->
        [one] 1 field
       *[other] { $fields } fields
    }, but the table has { $columns ->
        [one] 1 column
       *[other] { $columns } columns
    }
row-table-damaged = cannot be split into fields: { $reason }
row-table-damaged-lines = cannot be split into fields: { $reason }; the { $lines ->
        [one] line
       *[other] { $lines } lines
    } after this row cannot be read either
row-too-long = is longer than { $megabytes } MB
row-value-unreadable = has a value in column "{ $column }" that cannot be read: { $reason }
rows-after-unreadable = this row and the rows after it cannot be read: { $reason }

file-not-found = there is no file { $path }
file-unreadable = { $path } cannot be read: { $reason }
file-unwritable = { $path } cannot be written: { $reason }
file-empty = { $path } is empty
file-without-rows = { $path } has no rows
file-format-unknown = { $path } has an unknown format: its name must end in one of { $suffixes }, optionally followed by .gz, .xz or .zst
file-name-not-utf-8 = the name of the file { $path } is not UTF-8: rename the file
file-not-utf-16 = { $path } cannot be read as UTF-16: { $reason }
file-not-parquet = { $path } cannot be read as Parquet: { $reason }
file-too-many-lines = { $path } has more than { FORMAT($lines, spec: ",") } lines: split it into smaller files
compressed-file-damaged = { $path } is damaged: its { $compression } data is cut off or corrupt
compressed-file-too-large = { $path } decompresses to more than { FORMAT($megabytes, spec: ",") } MB, the limit for compressed files: decompress it first
compression-ratio-too-high = { $path } decompresses to more than { FORMAT($megabytes, spec: ",") } MB, which is unusually much for such a small file: if you trust it, decompress it yourself first
directory-without-files = { $path } has no file of the types { $suffixes }
directory-not-empty = { $path } exists and is not a prepared corpus: name another directory

table-header-unreadable = { $path }: the first line { $reason }
table-header-not-decodable = { $path }: the column names in the first line are not valid text; save the file as UTF-8
table-delimiter-not-comma = the columns of { $path } are separated by { $delimiter }, not by commas: save the file with commas
table-delimiter-not-tab = the columns of { $path } are separated by { $delimiter }, not by tabs: save the file with tabs
table-columns-repeated = { $source } has several columns named { $columns }: rename them
pasted-table = the pasted table
pasted-table-empty = the pasted table has no rows below its column names
rows-column-not-found = { $source } has no column { $column }; its columns are { $columns }
rows-label-not-found = { $source } has no column "{ $column }" to train on; its columns are { $columns }

task-without-hub-data = the data of this task is not on the hub: name its file or directory with --data
split-not-found = { $source } has no file for the split { $split }; its files are { $files }
split-ambiguous = { $source } has several files for the split { $split }: { $files }; name one of them
split-part-not-found = { $source } lacks a file of the split { $split }: part { $part } of { $parts } is missing
part-column-not-found = { $path } has no column { $column }, which { $first } has
hub-data-unavailable = { $name } is not a local file, and it cannot be loaded from the hub: { $reason }

no-text-source = name at least one file, directory or hub id with text
corpus-column-not-found = { $path } has no column "{ $column }"; its columns are { $columns }: name the column of the text with --column
corpus-column-not-text = { $path } has values of type { $type } instead of text in column "{ $column }": name the column of the text with --column
sources-without-text = there is no text in { $sources }
sources-without-valid-text = there is no text that can be used in { $sources }: { $first }
corpus-weights-invalid = { $sources ->
        [one] the source of text needs exactly one weight, more than 0 and less than 100
       *[other] there must be { $sources } weights, one for each source, at least 0 and less than 100, and not all 0
    }; given: { $weights }
corpus-differs = { $path } contains a corpus with different settings ({ $changes }): choose another --out, or remove this directory
corpus-change-sources = different texts
corpus-change-files = files that have changed since the corpus was prepared
corpus-change-vocabulary = a different vocabulary
corpus-not-found = { $path } is not a prepared corpus: make one with bertlab prepare
corpus-facts-damaged = { $path } is damaged: remove { $directory } and prepare the corpus again
corpus-rows-missing = { $path } is damaged: its rows are missing; prepare it again
corpus-rows-damaged = { $path } is damaged: { $reason }; prepare it again
corpus-checksum-differs = { $path } is damaged: its rows have changed since they were written; prepare it again
corpus-vocabulary-differs = { $path } was not tokenised with the vocabulary of { $owner }: prepare it again with --tokenizer { $owner }
corpus-token-unknown = the corpus contains the token id { $id }, but the vocabulary has only { $size } tokens: prepare the corpus again
corpus-without-pairs = no document of the corpus has two sentences or more, so no sentence pair can be made
worker-killed = a worker process was killed, perhaps for lack of memory: try fewer --workers

# the story world
story-language-unknown = there are no stories in the language { $language }: choose one of { $languages }
story-flags-unused = { $flags } can only be used when the corpus is made from generated stories (story-world)
story-task-unknown = there is no labelled story task { $task }: choose one of { $tasks }
