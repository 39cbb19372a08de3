# abbreviations of entity types: CoNLL-2003 and WikiANN, then KLUE
entity-type-PER = person
entity-type-LOC = place
entity-type-ORG = organisation
entity-type-MISC = other name
entity-type-PS = person
entity-type-LC = place
entity-type-OG = organisation
entity-type-DT = date
entity-type-TI = time
entity-type-QT = quantity
