tokenizer-flags-unused = --tokenizer brings a vocabulary that is already trained: leave out { $flags }
