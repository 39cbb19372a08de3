xray = Answer x-ray
xray-title = Why this answer?
xray-lead = Every token of the passage gets a score for starting and for ending the answer. Move the threshold and see when the result becomes “no answer”.
start-xray = See the scores behind an answer and move its threshold.
xray-answer-at = At τ = { FORMAT($tau, spec: "g") } BERT answers:
xray-no-answer-at = At τ = { FORMAT($tau, spec: "g") } BERT gives no answer.
xray-result-changes-at = The result changes at τ = { FORMAT($margin, spec: ".2f") }: the no-answer score { FORMAT($none, spec: ".2f") } minus the best span's { FORMAT($best, spec: ".2f") }.
xray-spans = Candidate answers
xray-candidate-count = Candidates shown
xray-spans-lead = Each line is a candidate, labelled with its rank and score. Overlapping candidates are drawn one below the other.
xray-columns = Start and end probabilities
xray-columns-lead = Up, blue: the answer starts here. Down, hatched orange: it ends here. [CLS] stands for no answer. The tallest column is { FORMAT($most, spec: ".1%") }; point at a token for its numbers.
xray-scale = Scale
xray-scale-linear = linear
xray-scale-logarithmic = logarithmic, shows small values
xray-windows = Windows of the passage
xray-windows-lead = The passage was read in { $count } overlapping windows; the best span is in window { $best }. The lowest no-answer score of all windows counts.
xray-windows-one = The passage fits into one window.
xray-window = Window
xray-heads = Attention between question and answer
xray-direction = Direction
xray-direction-question = question → answer
xray-direction-answer = answer → question
xray-candidate = Candidate
xray-head-share = Layer { $layer }, head { $head }: { FORMAT($share, spec: ".1%") } of the attention, { FORMAT($ratio, spec: ".1f") } times uniform attention.
xray-open-head-in-attention = Open this head in Attention
xray-no-possible-start = No token of this passage can start an answer.
