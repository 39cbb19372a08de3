# The panel that predicts a whole file, on several pages.
files = A whole file
files-embed = Vectors of a whole file
files-upload = Upload a CSV, TSV, JSON Lines, Parquet or text file
files-limits = Up to { FORMAT($rows, spec: ",") } rows and { $megabytes } MB; in a text file, every line is a row. The file and its results stay in `{ $directory }` on this machine until you delete them.
files-scanning = Reading the file …
files-rows = { $rows ->
    [one] 1 row
   *[other] { FORMAT($rows, spec: ",") } rows
  }, { $columns ->
    [one] 1 column
   *[other] { $columns } columns
  }
files-passage-column = Column of the passages
files-question-column = Questions
files-question-of-page = The question above: { $question }
files-question-missing = Type a question above, or choose a column of questions.
files-start = { $count ->
    [one] Predict 1 row
   *[other] Predict { FORMAT($count, spec: ",") } rows
  }
files-checkpoint = Checkpoint: `{ $checkpoint }`
files-start-embed = { $count ->
    [one] Compute 1 vector
   *[other] Compute { FORMAT($count, spec: ",") } vectors
  }
files-busy = One file at a time: { $title } (page { $page }) is still being processed. Wait until the work is finished, or cancel it on that page.
files-file = File
files-column = Columns
files-preparing = Opening the checkpoint …
files-progress = { FORMAT($done, spec: ",") } of { FORMAT($total, spec: ",") } rows · about { $left } left
files-progress-stopped = { FORMAT($done, spec: ",") } of { FORMAT($total, spec: ",") } rows
files-close-tab = You can close this tab: the work continues. To see the progress again, open the address of this page.
files-finished = Finished: { $total ->
    [one] 1 row.
   *[other] { FORMAT($total, spec: ",") } rows.
  }
files-cancelled = Cancelled. The results so far can be downloaded, and you can continue.
files-interrupted = The process ended too early, for example because the server was stopped. The results so far are stored; press “Continue” to predict the rest.
files-failed = The job failed: { $reason }
files-cancel = Cancel
files-cancelling = Stopping …
files-resume = Continue
files-download = Download { $format }
files-delete = Delete
files-delete-confirm = Delete the file and its results
files-close = Choose another file
files-unusable = { $count ->
    [one] 1 row could not be used:
   *[other] { FORMAT($count, spec: ",") } rows could not be used; up to { $shown } are shown here, and the download has a reason for each:
  }
files-row = Row
files-reason = Reason
files-answer = answer
files-vector = vector
files-preview = { $count ->
    [one] The first row of the results
   *[other] The first { $count } rows of the results
  }
files-stored = Earlier files
files-status-running = in progress
files-status-finished = finished
files-status-cancelled = cancelled
files-status-interrupted = interrupted
files-status-failed = failed
