xray = Answer x-ray
xray-title = Answer x-ray: the scores behind an answer
xray-lead = Every token of the passage has a start score and an end score. Move the threshold τ and see when the result becomes “no answer”.
xray-about = Every token of the passage has two probabilities: that the answer starts there, and that it ends there. The lines below are the pairs of start and end with the highest scores. If the score of “no answer” exceeds the best of these scores by more than the threshold, the result is “no answer”.
xray-try = Delete the answer from the passage and see which answer takes its place.
start-xray = See the scores behind an answer and move the threshold.
xray-answer-at = At τ = { FORMAT($tau, spec: "g") } the answer is:
xray-no-answer-at = At τ = { FORMAT($tau, spec: "g") } the result is “no answer”.
xray-result-changes-at = The result changes at τ = { FORMAT($margin, spec: ".2f") }, which is the no-answer score ({ FORMAT($no_answer, spec: ".2f") }) minus the score of the best span ({ FORMAT($best, spec: ".2f") }).
xray-spans = Candidate answers
xray-candidate-count = Candidates shown
xray-spans-lead = Each line marks a candidate answer and is labelled with its rank and score. Overlapping candidates are drawn one below the other.
xray-columns = Start and end probabilities
xray-columns-lead = Blue, upwards: the probability that the answer starts at the token. Hatched orange, downwards: the probability that the answer ends at the token. [CLS] stands for no answer. The tallest column is { FORMAT($highest, spec: ".1%") }. Point at a token to see its probabilities.
xray-scale = Scale
xray-scale-linear = linear
xray-scale-logarithmic = logarithmic (shows small values)
xray-windows = Windows of the passage
xray-windows-lead = The passage was read in { $count } overlapping windows. The no-answer score is the lowest no-answer score of all windows.
xray-windows-one = The passage fits into one window.
xray-window = Window
xray-heads = Attention between question and answer
xray-direction = Direction
xray-direction-question = question → answer
xray-direction-answer = answer → question
xray-candidate = Candidate
xray-head-share = Layer { $layer }, head { $head }: on average, { FORMAT($share, spec: ".1%") } of the attention goes in this direction, { FORMAT($ratio, spec: ".1f") } times as much as with uniform attention.
xray-open-head-in-attention = Open this head in Attention
xray-no-possible-start = No token of this passage can start an answer.
