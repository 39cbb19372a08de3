# finding and downloading
checkpoint-name-empty = name a checkpoint: a directory, or a hub model such as google-bert/bert-base-uncased
checkpoint-not-shipped = there is no shipped checkpoint called { $names } in { $directory }: set { $variable } to a directory that contains checkpoints/ and runs/, or name a checkpoint (a directory or a hub id)
checkpoint-is-a-file = { $name } is a file; a checkpoint is a directory with config.json and model.safetensors
checkpoint-not-found = there is no directory { $name }
checkpoint-name-mistyped = there is no checkpoint { $name } here, and the hub did not provide it: did you mean { $suggestion }?
run-not-finished = the run in { $path } has not finished and has no checkpoint yet: run the same command again to continue the run
hub-model-gated = access to { $name } is restricted: log in to the hub and accept the terms on the page of the model
hub-model-not-found = there is no directory { $name }, no shipped checkpoint of that name in { $shipped }, and no public model of that name on the hub
hub-name-invalid = there is no directory { $name }, and { $name } is not a valid id of a hub model
hub-unreachable = there is no directory { $name }, no shipped checkpoint of that name in { $shipped }, and the hub cannot be reached
hub-download-failed = { $name } could not be downloaded from the hub: { $reason }
hub-weights-too-large = the weights of { $name } are { $size } GB, more than the limit of { $limit } GB: check the name, or raise { $variable } (in GB)
hub-limit-invalid = { $variable } is { $value }; it must be a number of gigabytes
hub-download-size = Downloading { $size } MB of weights for { $name }

# configuration and weights
checkpoint-no-config = { $path } is not a checkpoint: it has no config.json
checkpoint-no-weights = { $path } has no weights: there is neither model.safetensors nor pytorch_model.bin
checkpoint-unusable = { $name } cannot be opened: { $reason }
checkpoint-tokenizer-of-other = the tokenizer of { $name } does not belong to its model: { $token } has the id { $id }, but config.json has pad_token_id { $expected }
checkpoint-token-ids-differ = the tokenizer of { $name } does not belong to its model: config.json has { $fields }, but in the tokenizer the ids of these tokens are { $ids }; if it is the right tokenizer, correct config.json
checkpoint-vocabulary-size = { $name } cannot be opened: its vocabulary has { $tokens } tokens but its embedding table has { $rows } rows, so they belong to different models
checkpoint-multi-label = the model gives several labels to one text (multi-label), which bertlab does not support
config-not-a-bert = { $path } does not describe a BERT: { $reason }
config-value-invalid = { $path } has { $name } = { $value }, which no BERT can have
config-architectures-invalid = { $path } is damaged: architectures is not a list of names
weights-damaged = { $path } is damaged: { $reason }
sentence-module-unknown = { $path } makes sentence vectors with the module { $module } of sentence-transformers: bertlab does not have this module
sentence-pooling-unknown = { $path } makes sentence vectors with the pooling { $modes }: bertlab does not have this pooling
weights-more-than-tensors = { $path } is damaged, or contains Python objects that are not tensors: bertlab does not load such objects
weights-compressed = { $path } is compressed, but torch.save does not compress weights, and bertlab does not decompress such files
weights-no-table = { $path } is not a dictionary of named tensors
weights-tensor-not-stored = { $path } does not contain the values of tensor { $tensor }
weights-quantised = the weights in { $path } were quantised with PyTorch, and bertlab reads only weights in floating point: use the checkpoint from which they were quantised
weights-index-invalid = { $path } is damaged: it has no weight_map of file names
weights-not-finite = the weights in { $path } contain NaN or infinity in { $tensor }
weights-of-other-family = config.json has the model_type { $type }, but the names of the tensors begin with { $name }, as in a checkpoint of { $other }
weights-layer-count = config.json describes { $layers ->
        [one] 1 layer
       *[other] { $layers } layers
    }, but the weights contain { $stored }
weights-classifier-shape = classifier.weight has the shape { $shape }, but a classifier needs a row per label
weights-tensor-missing = the weights have no tensor { $tensor }, which should have the shape { $shape }
weights-tensor-shape = { $tensor } has the shape { $shape }, but config.json requires { $expected }
weights-tensor-type = { $tensor } is of type { $type }, not floating point
weights-tensor-twice = the weights contain { $tensor } twice, once under the name { $alias }
weights-not-tied = { $tensor } differs from { $other }; in this model, both names must stand for the same tensor
weights-no-pooler = the weights have a { $head } output layer but no pooler, which that layer needs
weights-unused = the weights contain tensors that this model does not have: { $tensors }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
}

# saving, averaging, pruning
checkpoint-target-in-use = { $path } exists and is not a checkpoint: choose another directory
checkpoint-several-classifiers = a checkpoint can hold only one of these output layers: { $heads }
checkpoint-not-saved = the checkpoint cannot be saved to { $path }: { $reason }
weights-overflow = { $tensor } contains values that are not finite in { $dtype }: training diverged, or the values need a data type with a larger range
average-architectures-differ = cannot average checkpoints with different architectures: they differ in { $fields }
average-heads-differ = cannot average checkpoints with different output layers: one has { $heads }, the other { $other_heads }
average-vocabularies-differ = cannot average checkpoints with different vocabularies
shrink-unsupported = layers, heads, neurons and weights of this checkpoint ({ $type }) cannot be pruned: its layers share their weights, or are not built like those of BERT
shrink-too-many-layers = the checkpoint has { $layers } layers, so it cannot keep { $count }
prune-layer-empty = layer { $layer } would have no head left: prune fewer heads, or use --zeroed, which sets the weights of the heads to zero instead of removing them

# runs
run-log-not-readable = cannot read the log { $path }: { $reason }
run-no-snapshots = { $path } has no snapshots: a run saves them at steps 0, 10, 30, 100 and so on, unless it was started with --no-snapshots

# ONNX files
onnx-library-missing = ONNX files need onnx and onnxruntime: install them with pip install "bertlab[onnx]"
onnx-not-of-bertlab = { $path } is not an ONNX file of bertlab: write one with bertlab export --format onnx
onnx-version-unknown = { $path } has the format version { $version }, but this version of bertlab opens only version { $expected }: export the original checkpoint again
onnx-no-internals = { $name } is an ONNX file, which gives predictions, but not attention, hidden states, weights or gradients: open the checkpoint that it was made from
onnx-sparse = the sparse attention of this checkpoint ({ $type }) cannot be written to an ONNX file: choose a checkpoint of another family
onnx-already = { $name } is an ONNX file already: name the checkpoint that it was made from
onnx-weights-unknown = ONNX weights cannot be { $weights }: choose one of { $types }
