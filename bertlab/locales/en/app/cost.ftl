cost = What a BERT costs
cost-title = What a BERT costs
cost-lead = Choose the size of a model and of a batch. The page shows the number of parameters, and the FLOP, memory, time and money that the training needs.
cost-about = Training needs memory for the weights, for the optimiser and for the intermediate results of every layer. The number of operations (FLOP) divided by the speed of a machine gives the time. All values are calculated; only the button at the end measures real steps.
cost-try = Double the number of tokens, then the batch size: which of the two needs more memory?
start-cost = Parameters, memory, time and money of any BERT, estimated and measured.
cost-preset = Size
cost-preset-help = Fills the fields below with the size of a published BERT model. Every field can then be changed.
cost-layers = Layers
cost-hidden = Hidden size
cost-attention-heads = Attention heads
cost-intermediate = Feed-forward width
cost-vocab = Vocabulary
cost-tokens = Tokens per sequence
cost-batch = Sequences per batch
cost-dropout = Dropout
cost-precision = Precision
cost-precision-bfloat16 = bfloat16
cost-precision-float32 = float32
cost-optimizer = Optimiser
cost-optimizer-adamw = AdamW
cost-optimizer-muon = Muon
cost-task = Training
cost-task-pretraining = pre-training
cost-task-finetuning = fine-tuning
cost-device = Device
cost-device-gpu = GPU
cost-device-cpu = CPU
cost-recompute = Activation checkpointing
cost-recompute-help = Store only the input of each layer, and compute the rest again in the backward pass: much less memory for about a third more time.
cost-parameters = Parameters
cost-training-flop = FLOP of a training step
cost-training-flop-help = Floating-point operations of all matrix products, forward and backward. A multiply-add counts as two.
cost-training-memory = Memory of training
cost-memory-help = The peak memory when bertlab trains. The weights are in float32 for the optimiser; if bertlab computes in bfloat16, there is also a bfloat16 copy of the weights. Logits are computed at masked tokens only. Python, PyTorch and the GPU driver take about half a gigabyte more. On a CPU, a process may keep up to a quarter more memory than it uses, because freed memory is not returned at once.
cost-inference-memory = Memory of inference
cost-inference-help = The memory needed to predict one masked token in each sequence of the batch, without gradients.
cost-forward = In a training step, the forward pass takes { $flop } and the backward pass about twice as much.
cost-inference-flop = Predicting one batch takes { $flop }.
cost-moment-forward = Memory use is highest at the end of the forward pass, when all activations are stored.
cost-moment-backward = Memory use is highest in the backward pass.
cost-moment-update = Memory use is highest when the weights are updated.
cost-growth = Growth with the sequence length
cost-quantity = Quantity
cost-quadratic = The attention scores (orange) grow with the square of the length. From { FORMAT($tokens, spec: ",") } tokens on, they need more FLOP than the rest of a layer. At { FORMAT($now, spec: ",") } tokens, they need { $share } of the FLOP of a training step.
cost-sparse = n instead of n²: Longformer and BigBird
cost-sparse-note = FLOP of the attention scores of one text in the forward pass. In Longformer, a token attends to the 256 tokens on each side; in BigBird, a block of 64 tokens attends to its two neighbouring blocks, to the first and the last block, and to three random blocks. The pattern is as wide for a long text as for a short one, so the FLOP grow with n instead of n². At { FORMAT($tokens, spec: ",") } tokens, full attention takes { $longformer } times as many FLOP as Longformer and { $bigbird } times as many as BigBird. bertlab can predict with Longformer and BigBird checkpoints and shows their patterns on the page Attention. bertlab computes all n² scores and then masks those outside the pattern, so in bertlab the two models are not faster than BERT.
cost-time = Time and money
cost-steps = Training steps
cost-share = Share of a GPU's peak speed, %
cost-share-help = The share of a GPU's published peak speed that training reaches. The initial 40% is an assumption, and optimistic for small models and small batches.
cost-price-of = Device whose price you set
cost-here = this machine
cost-price = US dollars per hour
cost-price-help = The initial prices are rough assumptions, not offers. Enter your own.
cost-column-device = device
cost-column-peak = peak speed
cost-column-memory = memory (is it enough?)
cost-column-step = time of a step
cost-column-run = whole run
cost-column-money = cost
cost-column-quantity = quantity
cost-column-estimated = estimated
cost-column-measured = measured
cost-column-error = error
cost-column-model = model
cost-column-published = published
cost-column-run-flop = FLOP (bertlab's estimate)
cost-column-implied = share of the TPUs' peak speed
cost-column-google = largest batch (Google)
cost-column-that-batch = memory for that batch (bertlab's estimate)
cost-column-float32 = largest batch (bertlab, float32)
cost-column-bfloat16 = largest batch (bertlab, bfloat16)
cost-assumptions = The first row assumes that training reaches { $own } of this machine's measured peak speed. bertlab estimated this share from measured training steps. The other rows assume { $share } of a GPU's published peak speed (for dense matrices). Prices are assumptions. GPUs marked * are fast in float16 but not in bfloat16. bertlab does not train in float16, so it trains in float32 on these GPUs.
cost-measure = Estimate and measurement
cost-measure-lead = Runs { $steps ->
    [one] { $steps } training step
   *[other] { $steps } training steps
} with this configuration on this machine, in a separate process.
cost-measure-button = Measure here
cost-measuring = Training steps are running…
cost-measured = { $hardware }: median of { $steps ->
    [one] { $steps } step
   *[other] { $steps } steps
}. The measured peak speed of this machine is { $peak }. On a CPU the time is CPU time per thread, which other programs hardly affect; the elapsed time of a step was { $wall }. The memory in the table does not include Python and its libraries, which take { $runtime }. The process grew by { $resident }, which is more than the memory in the table, because some freed memory is not returned at once.
cost-published = The published cost of BERT
cost-chips-days = { $chips ->
    [one] { $chips } TPU chip
   *[other] { $chips } TPU chips
}, { $days ->
    [one] { $days } day
   *[other] { $days } days
}
cost-published-pretraining = Pre-training in the paper: 1,000,000 steps of 256 sequences. In 90% of the steps the sequences have 128 tokens, in 10% they have 512. The share of the TPUs' peak speed assumes TPU v2 chips with { $peak } TFLOP/s each; the paper does not name the version.
cost-published-batches = Fine-tuning on a GPU with { $memory } GB: the largest batch that Google measured, and the estimates for bertlab. Google's TensorFlow code stores all attention scores in float32; bertlab does not store attention scores on a GPU. The estimates do not include the half gigabyte that the driver needs.
