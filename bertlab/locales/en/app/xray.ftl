xray = Answer x-ray
xray-title = Behind an answer
xray-lead = Every word says how well an answer would start or end there. Move the threshold and see when BERT would rather say nothing.
start-xray = See what an answer was weighed against, and move its threshold.
xray-says = At τ = { FORMAT($tau, spec: "g") } BERT answers:
xray-silent = At τ = { FORMAT($tau, spec: "g") } BERT says: no answer.
xray-flips = It flips at τ = { FORMAT($margin, spec: ".2f") }: the no-answer score { FORMAT($none, spec: ".2f") } less the best span's { FORMAT($best, spec: ".2f") }.
xray-none = no answer
xray-answer = answer
xray-spans = The spans it weighed
xray-show = Spans shown
xray-spans-lead = Each line is a span, with its place and its score; where spans overlap, their lines lie below each other.
xray-columns = Where it would start, where it would end
xray-columns-lead = Upwards, blue: the answer starts here. Downwards, hatched orange: it ends here. [CLS] stands for no answer. The tallest column is { FORMAT($most, spec: ".1%") }; point at a word for its numbers.
xray-scale = Columns
xray-scale-linear = true to size
xray-scale-logarithmic = small ones visible (logarithmic)
xray-start = start
xray-end = end
xray-windows = Windows over the passage
xray-windows-lead = The passage was read in { $count } overlapping windows; number { $best } won. Of the no-answer scores the lowest counts.
xray-windows-one = The passage fits into one window, so there is nothing to choose between.
xray-window = Window
xray-best = best span
xray-characters = characters of the passage
xray-score = score
xray-heads = Do question and answer look at each other?
xray-side = Direction
xray-side-question = question → answer
xray-side-answer = answer → question
xray-rank = Which span
xray-share = share
xray-even = an even look
xray-head = Layer { $layer }, head { $head }: { FORMAT($share, spec: ".1%") } of the look, { FORMAT($ratio, spec: ".1f") } times an even one.
xray-open = Open this head in Attention
xray-nothing = No piece of this passage can start an answer.
