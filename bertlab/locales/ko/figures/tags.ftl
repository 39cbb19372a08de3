# 개체명 유형의 약어: CoNLL-2003과 WikiANN, KLUE
entity-type-PER = 사람
entity-type-LOC = 장소
entity-type-ORG = 단체
entity-type-MISC = 그 밖의 이름
entity-type-PS = 사람
entity-type-LC = 장소
entity-type-OG = 단체
entity-type-DT = 날짜
entity-type-TI = 시간
entity-type-QT = 수량
