summary = Summary
summary-title = Summarise a text
summary-lead = Paste a text. A few sentences that summarise the text are marked. For comparison, the first sentences are marked too.
summary-about = Every sentence becomes a vector, and a sentence is central if its vector is similar to those of many other sentences: its content then occurs often in the text. The most central sentences that do not repeat each other make an extractive summary. A checkpoint that was fine-tuned on documents with marked summary sentences (`bertlab finetune custom --type summarisation`) scores every sentence directly instead of comparing vectors. In news, the first sentences are often an equally good summary: compare them with the chosen sentences, and both with a reference summary if you have one.
summary-try = Move the first sentence to the end of the text, and see whether it is still chosen.
start-summary = Mark the sentences that summarise a text.

summary-document = Text
summary-count = Sentences
summary-diversity = Avoid similar sentences
summary-diversity-help = With 0, sentences are chosen by centrality alone. With larger values, a sentence counts less if it is similar to a sentence chosen before.
summary-diversity-unused = This setting has no effect here: this checkpoint was fine-tuned on marked summary sentences. Only sentences that share three consecutive words with a sentence chosen before are left out.
summary-empty = There is no sentence yet: paste a text with several sentences.
summary-single = There is only one sentence, so there is nothing to choose.
summary-too-long = This text has { FORMAT($count, spec: ",") } sentences: only the first { FORMAT($limit, spec: ",") } are used. For longer texts, use `bertlab summary`.
summary-mixed = { $count ->
        [one] 1 sentence is in another language than the rest, so its centrality is unreliable.
       *[other] { FORMAT($count, spec: ",") } sentences are in another language than the rest, so their centrality is unreliable.
    }
summary-untrained = { $checkpoint } was not trained to make sentence vectors, so its choice may be poor.
summary-learned = { $checkpoint } was fine-tuned on marked summary sentences: it scores every sentence by the probability that it belongs to the summary.
summary-cut = { $count ->
        [one] 1 sentence is longer than the checkpoint can read, so the end of the sentence has no effect.
       *[other] { FORMAT($count, spec: ",") } sentences are longer than the checkpoint can read, so the ends of these sentences have no effect.
    }
summary-fewer = { $chosen ->
        [one] Only 1 sentence is chosen: all others share three consecutive words with it.
       *[other] Only { $chosen } sentences are chosen: all others share three consecutive words with a chosen sentence.
    }
summary-repeated = { $count ->
        [one] Sentence { $numbers } was left out: it shares three consecutive words with a chosen sentence.
       *[other] { $more ->
            [0] Sentences { $numbers } were left out: they share three consecutive words with a chosen sentence.
           *[other] Sentences { $numbers } and { FORMAT($more, spec: ",") } more were left out: they share three consecutive words with a chosen sentence.
        }
    }
summary-progress = Computing vectors: { $done } of { $of }
summary-legend = Blue: chosen sentences, each followed by its centrality. With a dotted line above the words: the first sentences of the text. Point at a sentence to see its number and centrality.
summary-legend-learned = Blue: chosen sentences, each followed by its score. With a dotted line above the words: the first sentences of the text. Point at a sentence to see its number and score.
summary-chosen = Most central sentences
summary-best = Sentences with the largest scores
summary-first = First sentences
summary-number = number
summary-sentence = sentence
summary-centrality = centrality
summary-score = score
summary-is-chosen = chosen
summary-overlap = { $shared ->
        [0] None of the chosen sentences is among the first { $count }.
        [one] 1 of the chosen sentences is among the first { $count }.
       *[other] { $shared } of the chosen sentences are among the first { $count }.
    } Only a reference summary can tell whether the chosen or the first sentences are the better summary.
summary-reference = Reference summary (optional)
summary-reference-placeholder = A summary written by a person, to compare with the chosen and the first sentences
summary-metric = F1
