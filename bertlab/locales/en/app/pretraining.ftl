pretraining = Pre-training by hand
pretraining-title = Pre-training by hand
pretraining-lead = Draw an example as pre-training does: a true next sentence or a random sentence, and tokens to predict. Then see what the checkpoint predicts and how large the losses are.
pretraining-about = This is how a training example for BERT is made: a text, a second text that follows it or does not, and 15% of the tokens chosen for prediction. Most chosen tokens become [MASK], some become a random token, and some stay as they are. Below, the checkpoint predicts the chosen tokens, and the losses show how wrong it is.
pretraining-try = Set the share of tokens to predict to 60% and draw again: what happens to the losses?
start-pretraining = Draw sentence pairs and masks as pre-training does, and see the losses.
pretraining-document = Document
pretraining-document-help = Sentence A comes from this text. A true next sentence B comes from this text too; a random sentence B comes from one of the short texts included in this app.
pretraining-example-text = Use the example text
pretraining-draw = Number of the draw
pretraining-draw-help = A draw is the random choice of sentence B and of the tokens to predict. The same number gives the same draw, so a copied link shows the same draw.
pretraining-draw-again = Draw again
pretraining-draw-more = Draw 10 more
pretraining-whole-word = Mask whole words
pretraining-whole-word-help = Mask all tokens of a word together (whole-word masking).
pretraining-order = Sentence order (SOP)
pretraining-order-help = ALBERT builds the pair differently: A and B are always neighbours in the text, and in half of the pairs their order is swapped.
pretraining-mask = Tokens to predict
pretraining-mask-share = Become [MASK]
pretraining-random-share = Become random tokens
pretraining-same-share = Stay unchanged
pretraining-percent = %d%%
pretraining-drawn-next-0 = Draw { $draw }: <b>IsNext</b>. B is the text that follows A.
pretraining-drawn-next-1 = Draw { $draw }: <b>NotNext</b>. B is a random text from another document.
pretraining-drawn-order-0 = Draw { $draw }: <b>in order</b>. A and B are neighbours in their original order.
pretraining-drawn-order-1 = Draw { $draw }: <b>swapped</b>. A and B are neighbours, but their order was reversed.
pretraining-odds = Both outcomes have a probability of 50%.
pretraining-document-b = B comes from a document that begins: “{ $text }”
pretraining-chosen = { $count ->
        [one] { $count } of { $tokens } tokens is predicted ({ $share }).
       *[other] { $count } of { $tokens } tokens are predicted ({ $share }).
    }
pretraining-long-document = The document has { $tokens } tokens, but a pair has at most { $limit } tokens, so each draw shows a part of the document.
pretraining-one-sentence = The document has one sentence, so it is cut at a random place into A and B. Type a second sentence to get a true next sentence.
pretraining-answers = Predictions of the checkpoint
pretraining-answers-help = For every chosen token: the five most probable tokens, and the probability and rank of the true token, which has an orange frame.
pretraining-token = true token → token that BERT reads
pretraining-probability = probability
pretraining-rank = rank
pretraining-token-loss = −ln p
pretraining-losses = Losses
pretraining-losses-help = These are the losses that a training step computes for this example, except that dropout is off here. Points: the losses of each draw. Lines: the running means.
pretraining-mlm-loss = MLM loss, mean over { $count ->
        [one] { $count } token
       *[other] { $count } tokens
    }
pretraining-next-loss = NSP loss: p({ $label }) = { $probability }
pretraining-order-loss = SOP loss: p({ $label }) = { $probability }
pretraining-total-loss = sum, which training minimises
pretraining-mean = { $draws ->
        [one] { $draws } draw so far:
       *[other] Mean over { $draws } draws:
    } { $losses }
pretraining-progress = Computing the losses of earlier draws: { $done } of { $of } batches
pretraining-objective-none = This checkpoint has no sentence-pair output layer, so there is only an MLM loss.
pretraining-objective-next = This checkpoint was trained on next-sentence prediction. It cannot judge the order of two sentences, so there is no SOP loss.
pretraining-objective-order = This checkpoint was trained on sentence order. It cannot judge whether B is random, so there is no NSP loss.
pretraining-label-next-0 = IsNext
pretraining-label-next-1 = NotNext
pretraining-label-order-0 = in order
pretraining-label-order-1 = swapped
