evaluation = Evaluation
evaluation-title = Evaluate a checkpoint
evaluation-lead = Evaluate the checkpoint on labelled rows: metrics, confusion matrix and hardest examples.
evaluation-about = The checkpoint predicts labelled rows, and the metrics say how often it is right. The confusion matrix shows which labels the checkpoint confuses. Below are the rows that the checkpoint predicted wrongly with the highest confidence.
evaluation-try = Read five errors: for how many would your own label differ from the label in the data?
start-evaluation = Metrics, confusion matrix, hardest examples.
evaluation-prediction-type = Kind of prediction
evaluation-task = Task
evaluation-task-own = the checkpoint's own task
evaluation-task-help = The task determines which columns are read, which labels exist and which metrics are computed.
evaluation-source = Data source
evaluation-source-examples = example rows
evaluation-source-path = path
evaluation-source-paste = paste
evaluation-source-upload = upload
evaluation-examples-note = { $count } rows made from sentence templates. They are easier than real data: they show that a checkpoint works, not how good it is.
evaluation-examples-download = Download these rows
evaluation-path = File or directory
evaluation-path-help = A path on the machine that runs this app. CSV, TSV, JSON Lines, JSON and Parquet files are read, even if compressed with gzip. In a directory, the file of the chosen split is read. A copied link to this page contains the path.
evaluation-split = Data split to read
evaluation-split-validation = validation
evaluation-split-test = test
evaluation-split-train = train
evaluation-paste = Rows, with the column names in the first line
evaluation-upload = CSV, TSV, JSON Lines, JSON or Parquet; the file stays on this machine
evaluation-skip-invalid = Skip invalid rows
evaluation-skip-invalid-help = On: invalid rows are left out, and the results show their number and the errors. Off: the first invalid row stops the evaluation.
evaluation-column-text = Text column
evaluation-column-pair = Second text column
evaluation-column-label = Label column
evaluation-max-rows = Maximum number of rows
evaluation-max-rows-help = Rows are sampled at regular intervals from the whole file. More rows take longer and give a more reliable result: an accuracy of 80% has a margin of error of 8 points with 100 rows, and of 3.5 points with 500.
evaluation-format-classification = Choose a file with labelled rows. It needs a text column (two for text pairs) and a label column with label names or numbers, for example:
evaluation-format-regression = Choose a file with labelled rows. It needs a text column (two for text pairs) and a column with a number, for example:
evaluation-format-multiple_choice = Choose a file with labelled rows. It needs columns with the context, the choices, and the index of the correct choice, counted from 0, for example:
evaluation-format-tagging = Choose a file with labelled rows. It needs a column of words and a column with one tag for each word. Write both as lists or separated by spaces, for example:
evaluation-format-span = Choose a file of questions: SQuAD JSON, or a table with the columns question, context and answers (the text of each answer, and optionally its answer_start). Leave the column “answers” empty if the passage contains no answer. For example:
evaluation-insert-sample = Try these rows
evaluation-run = Evaluate { $count ->
        [one] 1 row
       *[other] { $count } rows
    }
evaluation-progress = { FORMAT($share, spec: ".0%") } evaluated
evaluation-upload-not-in-link = A copied link to this page does not contain the uploaded file.
evaluation-coverage-all = Computed on all { $total } rows.
evaluation-coverage-all-valid = Computed on all { $total } valid rows. Invalid rows left out: { $invalid }.
evaluation-coverage-single = Computed on only one row, so this result is not reliable.
evaluation-coverage-single-valid = Computed on the only valid row, so this result is not reliable. Invalid rows left out: { $invalid }.
evaluation-coverage-sample = Computed on { $count } of { $total } rows, sampled at regular intervals.
evaluation-coverage-sample-valid = Computed on { $count } of { $total } valid rows, sampled at regular intervals. Invalid rows left out: { $invalid }.
evaluation-majority = A model that always predicts the most frequent label would have an accuracy of { FORMAT($share, spec: ".1%") }.
evaluation-invalid-rows = { $count } invalid rows were left out. The first: { $first }
evaluation-invalid-row = One invalid row was left out: { $first }
evaluation-invalid-rows-all = All { $count } invalid rows and their errors
evaluation-invalid-rows-first = The first { $shown } of { $count } invalid rows and their errors
evaluation-confusion = Confusion matrix
evaluation-confusion-lead = Rows are labels, columns are predictions. Click a cell, or choose it below, to see its examples.
evaluation-confusion-entities-lead = Rows are the labelled types of entities, columns the predicted ones. Each entity counts once, however many words it has. An entity with a wrong boundary counts as a false negative and as a false positive. Click a cell, or choose it below, to see its sentences.
evaluation-groups = Results by type of question
evaluation-group-by = Group by
evaluation-group-by-question = question word
evaluation-group-by-length = number of words in the correct answer
evaluation-values = Labels and predictions
evaluation-values-lead = Each point is a row. On the dotted line, label and prediction are equal. Click a point to see its row.
evaluation-label = label
evaluation-prediction = prediction
evaluation-probability = probability of the label
evaluation-nothing = none
evaluation-show = Examples shown
evaluation-show-all = all, hardest first
evaluation-confusion-cell = label: { $label } · prediction: { $prediction } ({ $count })
evaluation-hardest = Hardest examples
evaluation-selected = Selected examples
evaluation-hardest-count = { $shown } of { $count } examples, the hardest first.
evaluation-hardest-count-all = { $count ->
        [one] One example.
       *[other] All { $count } examples, hardest first.
    }
evaluation-download = { $count ->
        [one] Download the example as CSV
       *[other] Download all { $count } examples as CSV
    }
