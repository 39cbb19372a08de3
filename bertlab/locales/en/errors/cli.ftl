stdin-read-twice = only one text can be read from standard input: give the other texts on the command line
command-unknown = there is no command "{ $command }": bertlab --help lists all commands
command-needs-package = bertlab { $command } needs the package { $package }: pip install { $package }
arguments-invalid = { $reason } (see { $command } --help)
arguments-not-understood = the arguments are not valid
out-of-memory = there is not enough memory for this: use a smaller --batch-size, or a smaller model
file-operation-failed = { $path }: { $reason }
operation-failed = { $reason }
process-failed = process { $rank }: { $error }
layer-out-of-range = there is no layer { $layer }: layers go from 0 to { $last }
head-out-of-range = there is no head { $head }: heads go from 0 to { $last }

## Unexpected exceptions (bertlab/config/crash_log.py)

unexpected-error = an unexpected error occurred, which is a bug in bertlab: { $reason } (the stack trace is in { $path } under id { $id }; BERTLAB_TRACEBACK=1 prints it)
unexpected-error-without-log = an unexpected error occurred, which is a bug in bertlab: { $reason } (BERTLAB_TRACEBACK=1 prints the stack trace)

# export
export-no-directory = name the directory to export to
export-prune-and-average = --prune and --average cannot be combined: write the average first, then prune it
export-share-without-average = --share sets how much another checkpoint counts in the average: name that checkpoint with --average
export-checkpoint-exists = { $path } is a checkpoint already: choose another directory, or add --replace
export-int8-needs-onnx = --dtype int8 is for ONNX files: add --format onnx, or use --dtype float8 for a checkpoint
vectors-written = { $count ->
        [one] 1 vector
       *[other] { FORMAT($count, spec: ",") } vectors
    } of { $size } numbers, computed by { $checkpoint }
sentences-only-one = there is only one text, so there is nothing to compare
sentences-clustering-slow = finding clusters among { FORMAT($count, spec: ",") } texts; this can take minutes
sentences-too-few-to-cluster = there are fewer than { $least } different texts, too few to form a cluster
sentences-blank = { $count ->
        [one] 1 blank line or row is left out
       *[other] { FORMAT($count, spec: ",") } blank lines or rows are left out
    }
sentences-truncated = { $count ->
        [one] 1 text is longer than the checkpoint can read, so the end of the text has no effect
       *[other] { FORMAT($count, spec: ",") } texts are longer than the checkpoint can read, so the ends of these texts have no effect
    }
sentences-unreadable = { $count ->
        [one] 1 text is in a language or script that { $checkpoint } cannot read, so its vector is unreliable: `bertlab cluster` leaves it out, and `bertlab similar` pairs it only with equal texts
       *[other] { FORMAT($count, spec: ",") } texts are in a language or script that { $checkpoint } cannot read, so their vectors are unreliable: `bertlab cluster` leaves them out, and `bertlab similar` pairs them only with equal texts
    }
checkpoint-of-other-language = { $name } was trained on { $language }, but the text is { $text_language }, so do not trust the result
fine-tuned-on-single-texts = { $checkpoint } was fine-tuned on single texts, so this prediction for a pair is unreliable
fine-tuned-on-pairs = { $checkpoint } was fine-tuned on pairs of texts, so this prediction for a single text is unreliable
sentences-untrained = { $checkpoint } was not trained to make sentence vectors, so unrelated texts have large cosines too: fine-tune it, for example with `bertlab finetune stsb_vectors`
summary-truncated = { $count ->
        [one] 1 sentence is longer than the checkpoint can read, so the end of the sentence has no effect on the choice
       *[other] { FORMAT($count, spec: ",") } sentences are longer than the checkpoint can read, so the ends of these sentences have no effect on the choice
    }
summary-blank = { $count ->
        [one] 1 row has no letters or digits and is left out
       *[other] { FORMAT($count, spec: ",") } rows have no letters or digits and are left out
    }
