## Interventions

position-out-of-range = there is no position { $position }: positions are counted from 0 to { $last }
head-scale-shape = head_scale_LBN has the shape { $shape }; this model needs { $expected }
head-scale-rows = head_scale_LBN needs one row for each of the { $expected } texts of the batch, but has { $rows }
attention-row-shape = the row of attention has the shape { $shape }; its last dimension must be { $expected }, the number of tokens
hidden-state-shape = the hidden state has the shape { $shape }; its last dimension must be { $expected }, the hidden size

## Output layers

labels-missing = this output layer needs labels, but the configuration has none
head-missing = this checkpoint has no { $head } output layer: { $remedy }
head-mlm-causal = this checkpoint was trained to predict the next token and cannot fill masks: use a checkpoint with bidirectional attention
head-mlm = masked-token (MLM)
head-nsp = next-sentence (NSP)
head-span = question-answering (span)
head-classify = classification
head-regress = regression
head-choose = multiple-choice
head-tag = tagging
head-rtd = replaced-token detection
head-summarise = summary (sentence scores)
head-remedy-pretrain = continue its pre-training with `bertlab pretrain --from ...` to add this layer
head-remedy-electra = use the discriminator of an ELECTRA, which has this output layer
head-remedy-finetune = fine-tune the checkpoint to add this layer, for example with `bertlab finetune { $task } --from ...`
