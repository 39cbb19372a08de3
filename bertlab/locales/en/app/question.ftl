question = Question answering
question-title = Ask a question about a passage
question-lead = BERT does not write an answer. It marks where the answer starts and ends in the passage.
question-question = Question
question-passage = Passage
question-more = Candidate answers
question-more-help = Score: the start logit of the first token plus the end logit of the last. Probability: a softmax over the twenty best answers and *no answer*.
question-parts = Read { $done } of { $of } parts of the passage
question-reading = Reading the passage …
question-best = answer
question-word = word of the passage
question-long = Only the first { $limit } tokens of the question are read.
question-doubt = “No answer” scores higher than this answer. This checkpoint was not trained to refuse (SQuAD v1.1), so take it as a hint only.
question-answer = answer
question-probability = probability
question-score = score
question-curves = Where the answer starts and ends
question-start = start
question-end = end
question-windows = The passage is too long to read at once, so it was read in { $count } overlapping windows. The best span is in window { $best }.
question-whole = full answer
question-refused = No answer
question-refused-score = The score of “no answer” minus that of this span is { FORMAT($margin, spec: "+.2f") }, above the threshold τ = { FORMAT($tau, spec: "+.1f") }, so BERT refuses.
question-answered-score = The score of “no answer” minus that of this span is { FORMAT($margin, spec: "+.2f") }. BERT refuses only above the threshold τ = { FORMAT($tau, spec: "+.1f") }.
question-otherwise = Best span:
tau = Threshold τ
tau-help = BERT refuses if the score of *no answer* exceeds that of the best span by more than τ. For checkpoints trained on unanswerable questions, τ starts at the checkpoint's own value.
question-none = Probability of “no answer”: { FORMAT($probability, spec: ".0%") }.
