# devices and memory
device-unknown = there is no device { $name }: use cpu or cuda
device-not-supported = bertlab does not run on { $name }: use cpu or cuda
cuda-not-available = no CUDA device is available: use --device cpu
cuda-device-not-found = there is no { $name }: this machine has { $count ->
        [one] 1 GPU, number 0
       *[other] { $count } GPUs, numbered from 0
    }
cuda-device-missing = process { $rank } has no GPU of its own, because this machine has only { $count ->
        [one] 1 GPU
       *[other] { $count } GPUs
    }: start fewer processes
training-out-of-memory = out of memory: use a smaller --batch-size, or split each batch with --accumulate, which gives the same losses; the state that was saved last is not lost

# several processes
run-peer-lost = another process of this run ended or cannot be reached, so this one stops: the state that was saved last is not lost; run the same command to continue from that state
run-stopped-by-torchrun = stopped by torchrun because another process of the run ended: the state that was saved last is not lost; run the same command to continue from that state
run-weights-differ-between-processes = the processes do not start from the same weights: the run directory and the checkpoint must be visible to every machine

# stopping and divergence
run-interrupted = stopped after step { $step }: run the same command to continue
run-interrupted-earlier-save = stopped after step { $step }: run the same command to continue from step { $saved }
run-interrupted-unsaved = stopped after step { $step }: nothing is saved yet
loss-not-finite = the loss is { $value }
gradient-not-finite = the gradient norm is { $value }
loss-rose = the loss rose from { $reference } to { $level }
run-diverged = { $error } at step { $step }; { $saved }: try a lower --optim.lr with another --out
run-diverged-with-checkpoint = { $error }, and start with --from { $checkpoint }
run-saved-nothing = nothing was saved before
run-saved-step = the state of step { $step } is saved

# the run directory
run-state-not-written = the run's state cannot be written to { $path }: { $reason }
run-state-damaged = { $path } does not contain the saved state of this run: { $reason }
run-settings-damaged = { $path } is damaged and contains no settings: remove { $directory } to start again
run-settings-differ = { $directory } contains a run with different settings ({ $differences }): choose another --out, or use the same settings
run-settings-differ-finished = { $directory } contains a run with different settings ({ $differences }): choose another --out, or use the same settings, or continue from its result with --from { $directory }
run-settings-differ-unsaved = { $directory } contains a run with different settings ({ $differences }): choose another --out, or use the same settings, or remove the directory, because the run ended before its first save
run-setting-difference = { $flag } was { $before }, now { $now }
run-setting-unset = unset
run-data-differs = the run in { $directory } started with different data ({ $differences }): choose another --out
run-data-difference = { $name } was { $before }, now { $now }

# settings of pre-training
optimizer-unknown = there is no optimiser { $name }: choose one of { $names } with --optim.name
mask-shares-too-large = --mask-share and --random-share must not add up to more than 1
new-vocabulary-without-from = --new-vocabulary keeps only the encoder of a checkpoint and starts with new token embeddings: name the checkpoint with --from
left-to-right-unsupported = the config.json of { $family } cannot record left-to-right attention: use --family bert
start-unsupported = --start { $start } changes the position embeddings of BERT, which { $family } does not have in this form: use --start paper
from-with-random-init-flags = --from continues a model with its own size and weights: leave out { $flags }
generator-flags-without-generator = { $flags } only apply to a generator, and there is none: remove them, or add --token-objective replaced
token-objective-with-flags = --token-objective { $objective } starts from random weights, without a teacher or sentence pairs: leave out { $flags }
token-objective-unsupported = the checkpoints of { $family } have no output layer for --token-objective { $objective }: use --family electra
generator-missing = { $checkpoint } is a discriminator, which is evaluated with its generator: name a run directory with the subdirectories checkpoint and generator
generator-differs = { $generator } has different embeddings from { $checkpoint }, so they were not trained together
start-teacher-without-teacher = --start teacher copies layers of the teacher: name a teacher with --teacher
start-teacher-too-shallow = --start teacher: the student has { $layers } layers, more than the teacher's { $teacher_layers }: set --layers to a smaller number
start-teacher-differs = --start teacher: the student's { $name } has the shape { $own }, but the teacher's has { $teachers }: set --hidden and --attention-heads to the values of the teacher
teacher-flags-without-teacher = { $flags } sets the weight of a term of the distillation loss: name a teacher with --teacher
teacher-cosine-of-other-size = --teacher-cosine compares hidden states, but those of the student have { $hidden } numbers and those of the teacher { $teacher_hidden }: set --hidden and --attention-heads to the values of the teacher
teacher-of-left-to-right = a teacher predicts masked tokens, and a left-to-right model has no masked tokens: leave out --teacher or --left-to-right
teacher-vocabulary-differs = { $teacher } has a different vocabulary from { $corpus }, so it cannot be the teacher: prepare the corpus again with --tokenizer { $teacher }
final-max-tokens-too-few = --final-max-tokens is { $value }: it must be more than --max-tokens
pairs-too-long = pairs of { $tokens } tokens are too long: this model has { $positions } positions
inputs-too-long-for-teacher = inputs of { $tokens } tokens are too long for the teacher: it has { $positions } positions; set a smaller --max-tokens
from-vocabulary-differs = { $corpus } was not tokenised with the vocabulary of { $checkpoint }: prepare the corpus again with --tokenizer { $checkpoint }, or keep only the encoder with --new-vocabulary
left-to-right-with-sentence-pair = a left-to-right model cannot learn a sentence-pair objective, because [CLS] attends to no other token: add --pair-objective none
corpus-without-characters = the corpus has no characters, so there are no bits per character: prepare it again from other text
tensorboard-not-installed = --tensorboard needs the package tensorboard: pip install tensorboard

# preparing a corpus
tokenizer-flags-unused = --tokenizer uses a vocabulary that is already trained: leave out { $flags }
extend-vocabulary-without-tokenizer = --extend-vocabulary adds tokens to an existing vocabulary: name its checkpoint with --tokenizer
extend-vocabulary-unsupported = --extend-vocabulary needs a WordPiece vocabulary, but that of { $tokenizer } is { $kind }: leave out the flag

# export-run
run-directory-invalid = { $path } is not a run: it has neither log.jsonl nor snapshots
run-file-outside = { $path } is a link to a file outside the run { $run }: replace it with the file itself
export-target-exists = { $path } exists already: choose another --out, or remove it first
export-rows-too-few = --rows and --snapshots must be at least 2
sentence-without-mask = there is no [MASK] in "{ $text }": write [MASK] in place of a word
sentence-too-long = "{ $text }" has { $tokens } tokens, but this model has { $positions } positions: shorten it
evaluate-needs-one-source = give either --checkpoint, to make predictions, or --predictions, a file of predictions to score
evaluate-pretraining-needs-corpus = to evaluate pre-training, give --checkpoint, and give --data with a corpus made by `bertlab prepare`
evaluate-everyday-needs-checkpoint = to evaluate everyday sentences, give --checkpoint, and --split validation or test
evaluate-rows-without-labels = { $name } has no labels, so it cannot be used for evaluation: write the predictions to a file with --out
flag-needs-unanswerable = { $flag } is for tasks with unanswerable questions, such as squad_v2, not for { $task }
flag-needs-classification = { $flag } is for classification tasks, such as sst2, not for { $task }
teacher-of-other-vocabulary = { $teacher } has a different vocabulary from { $checkpoint }, so it cannot be the teacher
teacher-of-other-labels = the teacher { $teacher } has the labels { $labels }, but those of the task are { $expected }
flag-needs-sentence-vectors = { $flag } is for tasks of sentence vectors, such as stsb_vectors, not for { $task }
record-needs-checkpoint = --record writes into a checkpoint: name the checkpoint with --checkpoint
record-needs-own-checkpoint = { $checkpoint } was not made by bertlab, so it has no bertlab.json for --record
record-needs-labels = these rows have no labels, so there is no result for --record
finetune-rows-held-out = no validation rows were given: { FORMAT($held_out, spec: ",") } of the { FORMAT($rows, spec: ",") } training rows { $held_out ->
        [one] is
       *[other] are
    } held out for evaluation (--hold-out)
search-under-torchrun = the runs of a hyperparameter search (--seeds, --grid or --grid-...) are trained one after the other: start it without torchrun
search-without-held-out-rows = a hyperparameter search (--seeds, --grid or --grid-...) compares its runs on held-out rows: name their file with --validation
search-other-metric = the runs in { $directory } were compared by a metric other than { $metric }: choose another --out
reproduce-row-unknown = { $table } has no row { $name }: use one of { $names }
reproduce-column-unknown = { $table } has no column { $name }: use one of { $names }
reproduce-needs-corpus = to reproduce { $table }, bertlab pre-trains models: give --corpus with a corpus made by `bertlab prepare`
reproduce-perplexity-needs-validation = perplexity is measured on held-out text: name a prepared corpus with --validation
reproduce-data-not-found = there is no directory { $directory }: --data must contain a directory for each task
reproduce-task-not-found = { $directory } has no directory { $task }, which should contain the rows of that task
reproduce-other-settings = { $directory } contains a table made with different settings ({ $changed }): choose another --out, or use the same settings
reproduce-flag-for-benchmarks = { $flag } applies only to tables 1 to 4 of the paper: leave it out
reproduce-quick-with-grid = --quick and --grid contradict each other: choose one of them

## Compression

compress-weights-need-format = --weights { $weights } needs --format { $format }
compress-labels-differ = the labels of the checkpoint ({ $labels }) are not those of the task ({ $task_labels })
bfloat16-not-supported = this processor has no instructions for bfloat16: use --weights float16, or --weights int8 with --format onnx
