question = Question answering
question-title = Ask a question about a passage
question-lead = BERT does not write an answer. It predicts where the answer starts and ends in the passage.
question-question = Question
question-passage = Passage
question-candidates = Candidate answers
question-candidates-help = Score: the start logit of the first token plus the end logit of the last. Probability: a softmax over the twenty best answers and *no answer*.
question-progress = Read { $done } of { $of } windows of the passage
question-reading = Reading the passage …
question-too-long = Only the first { $limit } tokens of the question are read.
question-no-answer-likelier = “No answer” has a higher score than this answer, so the answer may be wrong. This checkpoint was fine-tuned without unanswerable questions, as in SQuAD v1.1.
question-answer = answer
question-probability = probability
question-score = score
question-curves = Where the answer starts and ends
question-windows = The passage is too long to read at once, so it was read in { $count } overlapping windows. The best span is in window { $best }.
question-full-answer = full answer
question-no-answer = No answer
question-no-answer-score = The score of “no answer” minus the score of this span is { FORMAT($margin, spec: "+.2f") }, above the threshold τ = { FORMAT($tau, spec: "+.1f") }. The result is “no answer”.
question-answer-score = The score of “no answer” minus the score of this span is { FORMAT($margin, spec: "+.2f") }, not above the threshold τ = { FORMAT($tau, spec: "+.1f") }. The result is this span.
question-best-span-prefix = Best span:
tau = Threshold τ
tau-help = The result is *no answer* if its score exceeds the score of the best span by more than τ. If its training included unanswerable questions, τ starts at the value saved with the checkpoint.
question-no-answer-probability = Probability of “no answer”: { FORMAT($probability, spec: ".0%") }.
question-allow-no-answer = Allow “no answer”
question-allow-no-answer-help = Off: the best span is always the answer, as in SQuAD v1.1. On: the result is “no answer” if its score exceeds the score of the best span by more than the threshold, as in SQuAD v2.0.
question-would-give-no-answer = This checkpoint's fine-tuning included unanswerable questions. If you allow “no answer”, the result here is “no answer”.
