sentence-candidates = { $first } is { FORMAT($ratio, spec: ".1f") } times as probable as { $second }. The probabilities of the { $count } tokens shown add up to { $shown }.
sentence-candidate = The probability of { $first } is { $shown }.
sentence-word-label-falls = { $word } has the largest effect: masking it lowers the log-odds of { $label } by { FORMAT($effect, spec: ".2f") }.
sentence-word-label-rises = { $word } has the largest effect: masking it raises the log-odds of { $label } by { FORMAT($effect, spec: ".2f") }.
sentence-word-value-falls = { $word } has the largest effect: masking it lowers the value by { FORMAT($effect, spec: ".2f") }.
sentence-word-value-rises = { $word } has the largest effect: masking it raises the value by { FORMAT($effect, spec: ".2f") }.
sentence-token-rates = { $few } needs { FORMAT($low, spec: ".1f") } tokens per word; { $many } needs { FORMAT($high, spec: ".1f") }, which is { FORMAT($ratio, spec: ".1f") } times as many.
sentence-token-rates-equal = Both vocabularies need { FORMAT($rate, spec: ".1f") } tokens per word.
sentence-positions = Learned vectors of neighbouring positions have a mean cosine similarity of { FORMAT($near, spec: ".2f") }; vectors whose positions differ by { $distance } have a mean of { FORMAT($distant, spec: ".2f") }.
sentence-embeddings = Mean length of the vectors: token { FORMAT($token, spec: ".2f") }, position { FORMAT($position, spec: ".2f") }, segment { FORMAT($segment, spec: ".2f") }.
sentence-ranking = Candidate { $best } is the most probable next sentence ({ $high }), candidate { $worst } the least probable ({ $low }).
sentence-ranking-one = Candidate { $best } follows with a probability of { $high }.
sentence-tags = The least certain word is { $word }: its tag { $tag } has a probability of { $share }.
sentence-span = The answer starts most probably at { $start } ({ $start_share }) and ends most probably at { $end } ({ $end_share }).
sentence-lens = After layer { $layer }, the prediction at { $settled } of { $total } positions is already the same token as after the last layer.
sentence-lens-at = From layer { $layer } on, { $word } keeps rank 1.
sentence-lens-at-once = { $word } has rank 1 from the embeddings on.
sentence-head-effects = Head { $helping } helps { $label } most: without it, the log-odds fall by { FORMAT($falls, spec: ".2f") }. Head { $hurting } hurts { $label } most: without it, the log-odds rise by { FORMAT($rises, spec: ".2f") }.
sentence-head-effects-none-helps = No head helps { $label }. Head { $hurting } hurts { $label } most: without it, the log-odds rise by { FORMAT($rises, spec: ".2f") }.
sentence-head-effects-none-hurts = Head { $helping } helps { $label } most: without it, the log-odds fall by { FORMAT($falls, spec: ".2f") }. No head hurts { $label }.
sentence-block = In layer { $layer }, attention adds a vector of length { FORMAT($attention, spec: ".1f") } to this token, and the feed-forward network adds a vector of length { FORMAT($feed_forward, spec: ".1f") }.
sentence-layer-norms = Attention adds its longest vector in layer { $attention_layer } (length { FORMAT($attention, spec: ".1f") }); the feed-forward network adds its longest vector in layer { $feed_forward_layer } (length { FORMAT($feed_forward, spec: ".1f") }).
sentence-predictions = The true token has rank 1 for { $first } of the { $count } chosen tokens, and rank { $guesses } or better for { $among } of the { $count }.
sentence-prediction-right = One token was chosen, and the true token has rank 1.
sentence-prediction-wrong = One token was chosen, and the true token does not have rank 1.
sentence-results = { $best } has the best published result: { FORMAT($value, spec: ".1f") }.
sentence-results-below = bertlab's best result, { FORMAT($own_value, spec: ".1f") } ({ $ours }), is { FORMAT($difference, spec: ".1f") } points below the best published result, { FORMAT($value, spec: ".1f") } ({ $best }).
sentence-results-above = bertlab's best result, { FORMAT($own_value, spec: ".1f") } ({ $ours }), is { FORMAT($difference, spec: ".1f") } points above the best published result, { FORMAT($value, spec: ".1f") } ({ $best }).
sentence-compared-heads = The attention of head { $head } differs most (distance { FORMAT($most, spec: ".2f") }). { $less } of { $total } heads { $less ->
        [one] differs
       *[other] differ
    } by less than half of this distance.
sentence-compared-heads-equal = No head differs.
sentence-compared-head-more = In head { $head }, the attention of { $query } to { $key } changes most: it rises by { FORMAT($points, spec: ".1f") } percentage points.
sentence-compared-head-less = In head { $head }, the attention of { $query } to { $key } changes most: it falls by { FORMAT($points, spec: ".1f") } percentage points.
sentence-compared-head-equal = Head { $head } does not differ.
sentence-compared-layers = The hidden states differ most after layer { $layer } (CKA { FORMAT($cka, spec: ".2f") }).
sentence-compared-embeddings = The embeddings differ most (CKA { FORMAT($cka, spec: ".2f") }).
sentence-changed-tokens = The hidden state of { $unit } differs most (cosine distance { FORMAT($distance, spec: ".2f") }).
sentence-confusion = Most frequent error: { $label } predicted as { $prediction }, { $count ->
        [one] once
       *[other] { $count } times
    }.
sentence-confusion-none = There is no error in these rows.
sentence-parts = Largest part: { $part }, with { $share } of the sum.
sentence-curve-lowest = Lowest { $metric } { $split ->
        [held-out] on held-out text
        [smoothed] in training, smoothed
       *[training] in training
    }: { $run }, { $value } (last value: { $last }).
sentence-curve-lowest-at-end = Lowest { $metric } { $split ->
        [held-out] on held-out text
        [smoothed] in training, smoothed
       *[training] in training
    }: { $run }, { $value }, at the end of the curve.
sentence-curve-highest = Highest { $metric } { $split ->
        [held-out] on held-out text
        [smoothed] in training, smoothed
       *[training] in training
    }: { $run }, { $value } (last value: { $last }).
sentence-curve-highest-at-end = Highest { $metric } { $split ->
        [held-out] on held-out text
        [smoothed] in training, smoothed
       *[training] in training
    }: { $run }, { $value }, at the end of the curve.
sentence-timeline-mask = { $word } has a probability of { $low } at step { FORMAT($first, spec: ",") } and { $high } at step { FORMAT($last, spec: ",") }. It has rank 1 for { $count ->
        [one] [MASK]
       *[other] the first [MASK]
    } from step { FORMAT($since, spec: ",") } on.
sentence-timeline-mask-one = At step { FORMAT($step, spec: ",") }, the most probable token for { $count ->
        [one] [MASK]
       *[other] the first [MASK]
    } is { $word } ({ $share }).
sentence-timeline-pair = The probability that B follows A is { $low } at step { FORMAT($first, spec: ",") } and { $high } at step { FORMAT($last, spec: ",") }.
sentence-timeline-attention = Between step { FORMAT($first, spec: ",") } and step { FORMAT($last, spec: ",") }, head { $head } changes most: on average, { $share } of its attention moves to other tokens.
sentence-groups = Highest F1: { $best } ({ $high }, { $best_count ->
        [one] 1 question
       *[other] { $best_count } questions
    }). Lowest F1: { $worst } ({ $low }, { $worst_count ->
        [one] 1 question
       *[other] { $worst_count } questions
    }).
sentence-groups-equal = { $groups ->
        [one] All questions are in one group, with an F1 of { $value }.
       *[other] All groups have an F1 of { $value }.
    }
sentence-errors = On average, predictions are { FORMAT($mean, spec: ".2f") } away from the labels. Largest error: row { $row }, with label { $label } and prediction { $prediction }.
sentence-errors-one = The prediction { $prediction } is { FORMAT($error, spec: ".2f") } away from the label { $label }.
sentence-windows = The best span is in window { $best }. Its score, { $score }, is { FORMAT($lead, spec: ".2f") } higher than the best score in window { $second }. The no-answer score is lowest in window { $lowest } ({ $no_answer }).
sentence-windows-one-span = Only window { $best } has a possible span (score { $score }). The no-answer score is lowest in window { $lowest } ({ $no_answer }).
sentence-prediction-change-rises = Largest change: the probability of { $outcome } rises by { FORMAT($points, spec: ".1f") } percentage points.
sentence-prediction-change-falls = Largest change: the probability of { $outcome } falls by { FORMAT($points, spec: ".1f") } percentage points.
sentence-prediction-change-none = No probability changes by 0.1 percentage points or more.
sentence-surprise = The most surprising word is { $word } with { FORMAT($most, spec: ".2f") } nats; { $misfits ->
        [0] no word is
        [one] 1 word is
       *[other] { $misfits } words are
    } above { FORMAT($threshold, spec: ".1f") } nats. The sum over { $tokens } tokens is { FORMAT($total, spec: ".1f") } nats and the mean is { FORMAT($mean, spec: ".2f") } nats, so the pseudo-perplexity is { FORMAT($perplexity, spec: ",.1f") }.
sentence-type-ahead = The most probable next word is { $word } ({ $share }). The probability that a punctuation mark comes next instead of a word is { $stop }.
sentence-corrections-none = No change of one letter or one space gains more than { FORMAT($margin, spec: ".1f") } nats.
sentence-corrections = { $count ->
        [one] 1 change gains
       *[other] { $count } changes gain
    } more than { FORMAT($margin, spec: ".1f") } nats. { $replacement } instead of { $original } gains most: { FORMAT($gain, spec: ".1f") } nats.
