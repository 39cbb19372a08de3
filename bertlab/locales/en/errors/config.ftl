file-not-writable = cannot write { $path }: { $reason }
file-not-readable = cannot read { $path }: { $reason }
file-not-utf8 = { $path } is damaged: it is not UTF-8 text
json-invalid = { $path } is damaged: it is not valid JSON
json-not-an-object = { $path } is damaged: it contains a JSON value of type { $type }, not an object
lock-held = { $owner } is under way in another process: wait until it ends, or choose another --out
lock-owner-run = the run in { $path }
lock-owner-corpus = the preparation of { $path }
system-no-such-file = No such file or directory
system-permission-denied = Permission denied
system-no-space-left = No space left on device
system-read-only = Read-only file system
system-is-a-directory = Is a directory
system-not-a-directory = Not a directory

## Settings

setting-out-of-range = --{ $flag } is { $value }; it must be { $limit }
input-out-of-range = { $name } is { $value }; it must be { $limit }
setting-not-finite = --{ $flag } is { $value }; it must be a finite number
setting-too-large = --{ $flag } is too large: it must fit in 64 bits
limit-at-least = at least { $minimum }
limit-more-than = more than { $minimum }
limit-less-than = { $lower } and less than { $below }
limit-at-most = { $lower } and at most { $maximum }
preset-unknown = there is no preset { $name }; choose one of { $presets }

## config.json

heads-do-not-divide = hidden_size { $hidden } cannot be divided into { $heads } heads of equal size
activation-unknown = the activation { $activation } is not one of { $activations }
model-type-unknown = config.json has the model_type { $type }; bertlab reads { $types }
family-xlnet = this is an XLNet (model_type { $type }): it predicts tokens in random orders with two streams of attention, so it has no [MASK], and each layer has two hidden states instead of one; the pages need [MASK] and one hidden state per layer; bertlab opens encoders like BERT
family-bart = this is a BART or a model like it (model_type { $type }): an encoder with a decoder that writes text token by token; bertlab opens encoders like BERT, and has no decoder
family-t5 = this is a T5 (model_type { $type }): an encoder with a decoder that writes text token by token; bertlab opens encoders like BERT, and has no decoder
family-gpt = this is a decoder like GPT (model_type { $type }), in which a token attends only to the tokens before it; it cannot fill in a [MASK], so bertlab does not open it
config-field-unsupported = config.json has { $name } = { $value }, but bertlab opens such a model only with { $expected }
position-embeddings-unknown = config.json has the position_embedding_type { $type }; this model needs { $expected }
config-quantised = the weights are quantised ({ $method }), and bertlab reads only weights in floating point: use the checkpoint from which they were quantised
config-rotary-unsupported = config.json has a value of { $name } that bertlab does not support: rotary positions must be unscaled, and layers with global attention must come at regular intervals
config-sizes-missing = config.json has no whole number for { $fields }
config-labels-misnumbered = the labels in config.json have the numbers { $numbers }; they must be numbered from 0 without gaps
config-pruned-heads-malformed = pruned_heads in config.json must map each layer to a list of heads
config-pruned-head-missing = pruned_heads in config.json names head { $head } of layer { $layer }, but there is no such head
config-pruned-layer-empty = config.json prunes all attention heads of layer { $layer }, but at least one must remain
task-excluded = { $task } is excluded: { $reason }
task-excluded-wnli = the BERT paper excludes it too (section 4.1). The validation set of WNLI repeats training sentences with the opposite label, so no model did better than always predicting the most frequent label, which gives 65.1% (https://gluebenchmark.com/faq, question 12)
task-unknown = there is no task { $task }: use one of { $tasks }, or `custom` for your own data
