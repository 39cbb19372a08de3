attention = Attention
attention-title = Attention between tokens
attention-lead = Point at a token to see which tokens it attends to. Each colour is a head.
attention-about = In every layer, each head computes how much every token attends to every other token. The weights of one token sum to 100%. They show where information flows, but alone they do not explain why the model predicts what it predicts.
attention-try = Add a pronoun to the sentence and look for a head that links it to its noun.
view = View
view-heads = Heads
view-neuron = Inside one head
view-rollout = Rollout
view-bertviz = bertviz
view-neuron-lead = How one head computes its attention: it multiplies the query of a token by the key of every token, scales the products and applies a softmax. The rest of the layer, which uses this attention, is shown below.
view-bertviz-head = Head view
view-bertviz-model = Model view
view-bertviz-neuron = Neuron view
view-bertviz-head-lead = The head view of bertviz by Jesse Vig, for up to 64 tokens. Click a colour to hide a head, double-click to see only that head.
view-bertviz-model-lead = The model view of bertviz by Jesse Vig, for up to 64 tokens: every layer is a row, every head a column. Click a picture to enlarge it.
view-bertviz-neuron-lead = The neuron view of bertviz by Jesse Vig, for up to 32 tokens. Point at a token on the left and click the plus sign to see its query, the keys and their products.
layer = Layer
head = Head
attention-sentence = Layer { $layer }, head { $head }: { $query } gives { $share } of its attention to { $key }.
attention-sentence-role = In this text, the head attends mostly to { $role }: { $share } on average.
attention-sentence-entropy = Entropy of the attention of { $query }: { FORMAT($bits, spec: ".1f") } of at most { FORMAT($most, spec: ".1f") } bits.
attention-block = The rest of layer { $layer }
attention-block-lead = How the layer uses the attention of { $token } in head { $head }: the values of all tokens, weighted by this attention, are summed; the outputs of all heads are joined; the feed-forward network follows. Point at a cell to read its number.
attention-layers = Through all layers to the prediction
attention-layers-lead = The length (norm) of the vector that each layer adds to this token, and the token that the model would predict here after that layer (logit lens).
attention-layers-lead-without-lens = The length (norm) of the vector that each layer adds to this token.
attention-rollout-position = Token
attention-rollout-lead = Rollout multiplies the attention of all layers. It shows how much of each input token may have reached the chosen token.
attention-rollout-sentence = After layer { $layer }, { $itself } of the vector at { $token } still comes from that token itself. Of the other tokens, { $source } contributes most ({ $share } of the whole).
attention-pattern-window = Layer { $layer } has local attention: a token attends to the { $side ->
    [one] token
   *[other] { FORMAT($side, spec: ",") } tokens
} on each side of it. All other weights are 0.
attention-pattern-window-global = Layer { $layer } has local attention: a token attends to the { $side ->
    [one] token
   *[other] { FORMAT($side, spec: ",") } tokens
} on each side of it and to the global tokens, which attend to all tokens. All other weights are 0. In classification, the first token is global; in question answering, the question is global; in the prediction of masked words, no token is global.
attention-pattern-block = A block of { $size ->
    [one] one token
   *[other] { $size } tokens
} attends to itself, to its two neighbouring blocks, and to the first and the last block. The first and the last block attend to all tokens. All other weights are 0.
attention-pattern-block-full = This text is not longer than { FORMAT($limit, spec: ",") } tokens, so every token attends to all tokens. In longer texts, attention is sparse.
