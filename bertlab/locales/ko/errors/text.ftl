text-empty = 텍스트가 비어 있어요. 단어를 몇 개 입력해 주세요.
text-too-long = 텍스트가 { $tokens }토큰인데 이 모델은 { $limit }토큰까지만 읽어요. 텍스트를 줄여 주세요.
