classify = Classify
classify-title = Classify a text
classify-lead = Change a word and watch the probabilities change. Some checkpoints compare two texts and need a second text.
classify-about = A layer on top of the [CLS] vector turns a text into the probabilities of a few labels. This layer was trained on labelled texts, such as film reviews. The colour of a word shows how much the probability changes when this word is masked.
classify-try = Write a sentence that praises something with words that are usually negative.
start-classify = Classify a text as you type.
classify-text = Text
classify-pair = Second text
classify-trained-on-single-texts = This checkpoint was fine-tuned on single texts.
classify-add-second-text = Add a second text
classify-second-text-missing = This checkpoint compares two texts: add a second text.
classify-words = Which words matter
classify-words-help = Each word is masked in turn. Blue with a solid line: the label is less probable when the word is masked. Orange with a dotted line: the label is more probable when the word is masked. Effects of word combinations are not measured.
classify-value-title = Predict a value
classify-value-lead = Change a word and watch the value change.
classify-value-words = Which words raise or lower the value
classify-value-words-help = Each word is masked in turn. Blue with a solid line: the word raises the value. Orange with a dotted line: the word lowers the value. Effects of word combinations are not measured.
classify-measure-words = { $count ->
        [one] Measure the effect of the word
       *[other] Measure the effect of all { $count } words
    }
classify-log-odds-axis = decrease in log-odds when masked
classify-value-axis = decrease in the value when masked
classify-value-range = trained on values from { FORMAT($low, spec: ".4g") } to { FORMAT($high, spec: ".4g") }
tag = Tag
tag-title = Find names in a text
tag-lead = The model tags every word and marks names of people, places and organisations. Point at a marked name to see its tags and their probabilities.
tag-about = Every word gets a tag: B begins a name, I continues a name, and O is outside of names. The output layer predicts a tag for each token from its last hidden state. A word that consists of several tokens gets the tag of its first token.
tag-try = Write a person's name that is also the name of a place.
start-tag = Mark the names in a text.
tag-text = Text
tag-no-names = No names found in this text.
tag-hint = Point at a marked name, or reach it with the Tab key, to see the probabilities of its tags.
tag-entity = Name
tag-entity-type = Type
tag-probability = Probability
tag-all-tags = Tag probabilities of every word
tag-all-token-tags = Tag probabilities of every token
tag-unit = What the figure shows
tag-unit-word = words
tag-unit-token = tokens
tag-unit-hint = A word has the tag of its first token. In Korean, a name and its particle are one word. Choose “tokens” to see that the tokens of the particle have a different tag.
batch = Many texts at once
batch-paste = Paste texts, one per line, or a table
batch-paste-help = One text per line, or a table copied from a spreadsheet or CSV file, with the column names in the first line.
batch-table = This is read as a table of { $rows ->
        [one] 1 row
       *[other] { $rows } rows
    } and { $columns ->
        [one] 1 column
       *[other] { $columns } columns
    }. The first line contains the column names.
batch-table-without-header = Every line has tabs, so this is read as a table of { $rows ->
        [one] 1 row
       *[other] { $rows } rows
    } and { $columns ->
        [one] 1 column
       *[other] { $columns } columns
    }. The first line is read as a row too, because none of its cells is the column name "text" or "sentence".
batch-upload = Or upload a table
batch-empty = Paste lines or a table, or upload a CSV, TSV, JSON Lines or Parquet file. Your data stays on this machine.
batch-empty-paste = Paste lines or a table. Your data stays on this machine. For a file, use the panel below.
batch-too-many-rows = { FORMAT($count, spec: ",") } rows are too many at once: only the first { FORMAT($limit, spec: ",") } are predicted.
batch-empty-texts = { $count ->
        [one] Row { $first } has no text and is listed without a prediction.
       *[other] { $count } rows have no text; the first is row { $first }. They are listed without a prediction.
    }
batch-failed-rows = No prediction for { $count } of { $total } rows; see the error column.
batch-second-text-missing = This checkpoint compares two texts: provide a table with a column for each text, and choose the column of the second text.
batch-predict = { $count ->
        [one] Predict
       *[other] Predict all { $count }
    }
batch-text = text
batch-predicted = prediction
batch-predicted_entities = predicted entities
batch-predicted_tags = predicted tags
batch-probability = probability
batch-error = error
batch-download = Download as CSV
batch-text-column = Text column
batch-pair-column = Second text column
batch-progress = { $done } of { $of }
