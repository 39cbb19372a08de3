checkpoint-replaced = { $chosen }에는 이 페이지에 필요한 출력층이 없어서 여기서는 { $used } 체크포인트를 써요. 다른 페이지에서는 선택한 체크포인트를 그대로 써요.
checkpoint-other-language = { $name } 체크포인트는 { $language }로 학습했는데 텍스트는 { $text_language }예요. 결과를 믿지 마세요. 토큰 { $tokens }개 중 { $letters }개는 낱글자, { $unknown }개는 [UNK](모르는 토큰)예요.
checkpoint-unknown-tokens = 이 텍스트의 토큰 { $tokens }개 중 { $unknown }개는 { $name } 체크포인트가 모르는 토큰([UNK])이에요. 결과를 믿지 마세요.
checkpoint-none-in-language = 이 태스크에 쓸 수 있는 { $language } 체크포인트가 아직 없어요.
language-name-en = 영어
language-name-ko = 한국어
