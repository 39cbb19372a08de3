checkpoint-replaced = { $chosen } has no output layer for this page, so { $used } is used here. Your choice stays for the other pages.
checkpoint-other-language = { $name } was trained on { $reads }, but the text is { $text }, so do not trust the result. Of { $tokens } tokens, { $letters } are single letters and { $unknown } are [UNK] (unknown).
language-name-en = English
language-name-ko = Korean
