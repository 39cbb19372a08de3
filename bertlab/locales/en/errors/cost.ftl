cost-batch-invalid = a batch needs from 1 to { FORMAT($rows, spec: ",") } sequences of 1 to { FORMAT($tokens, spec: ",") } tokens
cost-model-invalid = a model needs at least one layer, one feed-forward unit and one token in its vocabulary
cost-model-too-large = this model would have more than { $limit } parameters: choose smaller sizes
cost-does-not-fit = a training step needs about { $needed } GB of memory and this machine has { $available } GB left: use a smaller batch or model
cost-measurement-too-long = the measurement would take more than { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
}: use a smaller batch or model
cost-measurement-failed = the training step failed: { $reason }
cost-process-killed = the system ended the process, probably because memory ran out
cost-measurement-running = another measurement is running: try again when it has finished
