checkpoint-replaced = { $chosen }에는 이 페이지에 필요한 출력층이 없어서 여기서는 { $used } 체크포인트를 써요. 다른 페이지에는 선택한 것이 그대로 쓰여요.
checkpoint-other-language = { $name } 체크포인트는 { $reads }로 학습했는데 텍스트는 { $text }예요. 결과를 믿지 마세요. 토큰 { $tokens }개 중 { $letters }개는 낱글자, { $unknown }개는 [UNK](모르는 토큰)예요.
language-name-en = 영어
language-name-ko = 한국어
