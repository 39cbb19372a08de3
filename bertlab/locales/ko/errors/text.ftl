text-empty = 텍스트가 비어 있어요. 단어를 몇 개 입력해 주세요.
text-too-long = 텍스트가 { $tokens }토큰인데 이 모델은 { $limit }토큰까지만 읽어요. 텍스트를 줄여 주세요.
invalid-row = { $source } { FORMAT($row, spec: ",") }행: { $reason }
invalid-row-with-id = { $source } { FORMAT($row, spec: ",") }행(id { $id }): { $reason }
invalid-row-stops = { $error } (--invalid skip을 주면 쓸 수 없는 행을 빼고 진행해요)
row-without-text = 텍스트가 없어요
