start = Start
start-title = Look inside BERT
start-lead = BERT reads the sentence below. Click a word to mask it: BERT then predicts the word, and the arcs show which words attend to each other.
start-about = BERT reads all words of the sentence at once and predicts the one that you masked. The bars show the five most probable tokens and the masked word itself. The arcs are attention: a thick arc means that one token takes much of its information from another.
start-try = Mask different words in turn: which ones does BERT predict correctly, and which ones wrongly?
start-choose-checkpoint = Choose a checkpoint
start-own-checkpoint = To use your own checkpoint, or one from Hugging Face, type its directory or id under *Checkpoint* in the sidebar.
start-select-checkpoint = Select
start-checkpoint-selected = Selected
start-arcs = Attention in layer { $layer }, one colour per head; a thicker arc means more attention. The strongest attention is in head { $head }: “{ $query }” gives { $share } of its attention to “{ $key }”.
start-input = See the tokens that BERT reads.
start-attention = See which words attend to which, head by head.
start-fill-mask = Click a word to mask it and see what BERT predicts.
start-next-sentence = Predict whether one sentence follows another.
start-answer = Ask a question and see the answer marked in the passage.
card-scratch = Trained from random weights on English text.
card-strongest = A published small encoder that bertlab pre-trained further. It predicts masked words better than the other checkpoints here.
card-squad = The checkpoint “strongest”, fine-tuned to find answers in a passage and to recognise questions without an answer.
card-korean = Trained from random weights on Korean text for two hours. Good at grammar, idioms and next-sentence prediction; weak on facts.
card-sst2 = The checkpoint “strongest”, fine-tuned to classify English film reviews as positive or negative.
card-stsb = The checkpoint “strongest”, fine-tuned to rate how similar two sentences are in meaning, from 0 to 5.
card-nsmc = The checkpoint “korean”, fine-tuned to classify Korean film reviews as positive or negative.
card-wikiann_en = The checkpoint “strongest”, fine-tuned to find names of people, places and organisations.
card-metric-masked_accuracy = masked-token accuracy
card-metric-nsp_accuracy = next-sentence accuracy
card-metric-f1 = F1 of answers
card-metric-exact_match = exact match of answers
card-metric-accuracy = accuracy
card-metric-spearman = Spearman correlation × 100
card-metric-entity_f1 = entity F1
card-metric-tokens = training tokens
start-open-fill-mask = More about this prediction
start-pages = All pages
start-too-long = The picture shows at most { $limit } tokens; this text has { $count }.
start-tour = { $count ->
        [one] Take the tour: 1 step
       *[other] Take the tour: { $count } steps
    }
