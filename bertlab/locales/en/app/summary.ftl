summary = Summary
summary-title = The central sentences of a text
summary-lead = Paste a text. The sentences that are most similar to all the others are marked, in the order of the text, beside the first ones.
summary-about = Every sentence becomes a vector, and a sentence whose vector is similar to many others is central: it says what the text says most often. The most central sentences that do not repeat each other make an extractive summary; nothing is trained for it. In news the first sentences are often as good a summary, so compare both, with a reference summary if you have one.
summary-try = Move the first sentence to the end of the text, and see whether it is still chosen.
start-summary = Mark the most central sentences of a text.

summary-document = Text
summary-count = Sentences
summary-diversity = Avoid similar sentences
summary-diversity-help = 0 chooses by centrality alone; with larger values, a sentence that is similar to one chosen before counts less.
summary-empty = There is no sentence yet: paste a text with several sentences.
summary-single = There is only one sentence, so there is nothing to choose.
summary-too-long = This text has { FORMAT($count, spec: ",") } sentences: only the first { FORMAT($limit, spec: ",") } are used. For longer texts, use `bertlab summarise`.
summary-mixed = { $count ->
        [one] 1 sentence is in another language than the rest, so its centrality says little.
       *[other] { FORMAT($count, spec: ",") } sentences are in another language than the rest, so their centrality says little.
    }
summary-untrained = { $checkpoint } was not trained on sentence vectors, so its choice is rough.
summary-cut = { $count ->
        [one] 1 sentence is longer than the checkpoint reads; its end has no effect.
       *[other] { FORMAT($count, spec: ",") } sentences are longer than the checkpoint reads; their ends have no effect.
    }
summary-fewer = { $chosen ->
        [one] Only 1 sentence is chosen: all others repeat three words of it.
       *[other] Only { $chosen } sentences are chosen: all others repeat three words of one of them.
    }
summary-progress = Computing vectors: { $done } of { $of }
summary-legend = Blue: chosen, with the centrality. Dotted line above: the first sentences. Point at a sentence to see its number and centrality.
summary-chosen = Most central
summary-first = The first
summary-number = number
summary-sentence = sentence
summary-centrality = centrality
summary-is-chosen = chosen
summary-overlap = { $shared ->
        [0] None of the chosen sentences is among the first { $count }.
        [one] 1 of the chosen sentences is among the first { $count }.
       *[other] { $shared } of the chosen sentences are among the first { $count }.
    } Which of both is the better summary, only a reference can tell.
summary-reference = Reference summary (optional)
summary-reference-placeholder = A summary that a person wrote, to compare both with
summary-metric = F1
