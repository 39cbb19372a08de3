bertviz-text-too-long = 텍스트에 토큰이 { $tokens }개 있는데 bertviz는 { $limit }개까지만 보여 줘요. 어텐션 보기를 사용하세요.
bertviz-incomplete = 설치된 bertviz에 head_view.js가 없어요. bertviz 1.4 이상을 설치하세요.
