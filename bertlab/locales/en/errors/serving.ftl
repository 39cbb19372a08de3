## bertlab serve (bertlab/serving)

serve-needs-packages = bertlab serve needs { $packages }: pip install "bertlab[serve]"
serve-address-unusable = { $host }:{ $port } cannot be used ({ $reason }): choose another port with --port, or another address with --host
serve-precision-of-onnx = { $name } is an ONNX file, whose weights have a type already: leave out --precision { $precision }
serve-worker-died = a worker process died while it opened the checkpoint: is there enough memory? Fewer workers (--workers) need less memory
serve-started = bertlab serves { $checkpoint } at { $address } ({ $address }/docs lists the routes; Ctrl-C stops the server)
serve-stopped = the server stops: it has answered { $answered } of { $taken } requests

# replies with an error
serve-json-invalid = the body is not valid JSON: send an object such as {"{"}"text": "..."{"}"}
serve-body-not-object = the body is not a JSON object: send an object such as {"{"}"text": "..."{"}"}, with the header Content-Type: application/json
serve-field-missing = the field { $field } is missing: this route reads { $fields }
serve-field-unknown = there is no field { $field }: this route reads { $fields }
serve-field-not-text = { $field } is not a text
serve-field-not-unicode = { $field } contains half of a surrogate pair, which is not a character: send valid Unicode
serve-field-not-integer = { $field } is not an integer
serve-field-not-number = { $field } is not a number
serve-field-not-list = { $field } is not a list of texts
serve-field-too-small = { $field } has to be at least { $limit }
serve-field-too-large = { $field } has to be at most { $limit }
serve-list-length = { $field } has to contain at least 1 and at most { $limit } texts
serve-field-invalid = { $field }: { $reason }
serve-body-too-large = the request has more than { $kilobytes } kB: shorten the request, or start the server with a larger --max-kilobytes
serve-body-too-slow = the body of the request did not arrive in time
serve-route-unknown = there is no route { $path }: the routes are { $routes }
serve-method-not-allowed = { $path } does not accept { $method }: predictions are requested with POST, and information with GET
serve-queue-full = { $limit } requests are waiting already, and no more may wait: try again after the number of seconds in the header Retry-After
serve-time-limit = there was no result within { $seconds } seconds: try again later, or send less text
serve-no-worker = the server cannot compute at the moment: { $reason }
serve-request-kills-workers = several worker processes died while they computed this request: send less text

## The page /docs

serve-about = Predictions of a BERT checkpoint. A request is a JSON object, and so is the reply. An error has an id and a message in the language of the header Accept-Language.
serve-route-health = Whether the server is ready
serve-route-metrics = Metrics for Prometheus
serve-field-text = The text.
serve-field-pair = A second text, for a checkpoint that reads pairs.
serve-field-top-k = Number of predictions for each mask.
serve-field-question = The question.
serve-field-passage = The passage, of any length up to the size limit of the server.
serve-field-n-best = Number of answers.
serve-field-max-answer-tokens = Maximum number of tokens in an answer.
serve-field-threshold = The answer is "no answer" if the score of "no answer" exceeds the score of the best answer by more than this threshold. Default: the threshold of the checkpoint.
serve-field-texts = The texts.
serve-field-first = Sentence A.
serve-field-second = Sentence B.
serve-field-stride = Distance in tokens between the starts of neighbouring windows of a long passage.
serve-field-max-tokens = Maximum number of tokens in a window, including the question.
serve-field-sentences = Maximum number of sentences of the summary.
serve-field-diversity = How much a sentence has to differ from those chosen before it, from 0 to 1.
serve-field-context = The text to continue.
serve-field-choices = Two or more continuations.
serve-field-originals = The word that each mask replaced; the reply then has its probability and rank.
