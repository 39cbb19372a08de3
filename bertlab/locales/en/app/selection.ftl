checkpoint-replaced = { $chosen } has no output layer for this page, so { $used } is used here. Other pages still use your choice.
checkpoint-other-language = { $name } was trained on { $language }, but the text is { $text_language }, so do not trust the result. Of { $tokens } tokens, { $letters ->
        [one] 1 is a single letter
       *[other] { $letters } are single letters
    } and { $unknown ->
        [one] 1 is
       *[other] { $unknown } are
    } [UNK] (unknown).
checkpoint-unknown-tokens = Of the { $tokens } tokens of this text, { $unknown } are unknown to { $name } ([UNK]), so do not trust the result.
checkpoint-none-in-language = No checkpoint trained on { $language } is installed for this task.
language-name-en = English
language-name-ko = Korean
