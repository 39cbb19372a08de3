tokenizer-flags-unused = --tokenizer로 이미 학습된 어휘 사전을 쓰니 { $flags }은(는) 빼 주세요.
