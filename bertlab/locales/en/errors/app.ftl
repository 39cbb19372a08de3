labelled-rows-not-found = there is no file or directory { $path }: check the path
run-not-found = there is no training run in { $path }: type the directory that `bertlab pretrain` wrote with --out
path-not-allowed = { $path } cannot be opened: this app opens only the shipped files, its run directory, and directories that its owner allowed with --allow
checkpoint-not-allowed = { $name } cannot be opened: this app opens only the shipped checkpoints, its run directory, and what its owner allowed with --allow or --allow-hub
unexpected-error-on-page = an unexpected error occurred, which is a bug in bertlab: the owner of this app can find the details in the error log under id { $id }
evaluation-stopped-at-invalid-row = { $error } (switch on “Skip invalid rows” to leave out such rows)

## bertlab app

app-files-missing = the files of the app are missing: install bertlab again
app-needs-streamlit = the app needs streamlit: pip install streamlit
app-port-invalid = { $port } is not a valid port: choose a port from 1 to 65535
app-port-in-use = port { $port } is in use: choose another port with --port
app-directory-not-found = --allow { $path }: there is no such directory

# jobs on whole files
file-job-owner = a job on a whole file
file-job-busy = { $title } is still being processed: wait until it ends, or cancel it
file-job-too-many = { $limit } files are stored: delete one of them first
file-job-not-found = there is no such file, or someone has deleted it: upload it again
file-job-damaged = the settings of the job in { $path } are damaged: upload the file again
file-job-too-large = { $path } contains more than { $megabytes } MB: split it into smaller files
file-job-too-many-rows = { $path } has more than { FORMAT($limit, spec: ",") } rows: split it into smaller files
file-job-too-many-columns = { $path } has more than { $limit } columns: remove the columns that are not needed
file-job-text-unknown = all tokens of the text are unknown to the checkpoint
file-job-text-too-long = the text has { FORMAT($count, spec: ",") } characters, but at most { FORMAT($limit, spec: ",") } are read: shorten the text
