"""The words of the page *evaluation*."""

STRINGS = {
    "evaluation": ("Evaluation", "평가"),
    "evaluation.title": ("How good is it, and where does it fail?", "얼마나 잘하고, 어디서 틀리나요?"),
    "evaluation.lead": (
        "Give rows with answers: the page measures the checkpoint on them, shows what it takes for what, and lists the "
        "examples it finds hardest.",
        "정답이 달린 자료를 주면 체크포인트를 재고, 무엇을 무엇으로 착각하는지, 어떤 예를 어려워하는지 보여 줍니다.",
    ),
    "start.evaluation": ("Figures, confusions, hardest examples.", "점수, 헷갈린 것, 어려운 예를 봅니다."),
    "evaluation.what": ("What to measure", "무엇을 잴까요"),
    "evaluation.task": ("Task", "과제"),
    "evaluation.task.own": ("what the checkpoint was taught", "체크포인트가 배운 것"),
    "evaluation.task.help": (
        "A task says which columns to read, what its labels are and by which measures it is judged.",
        "과제는 어느 열을 읽고, 분류가 무엇이며, 어떤 값으로 재는지를 정합니다.",
    ),
    "evaluation.from": ("Rows from", "자료 가져오기"),
    "evaluation.from.path": ("a path", "경로"),
    "evaluation.from.paste": ("paste", "붙여 넣기"),
    "evaluation.from.upload": ("upload", "올리기"),
    "evaluation.path": ("File or directory", "파일이나 폴더"),
    "evaluation.path.help": (
        "On the machine where this window runs. CSV, TSV, JSON lines, JSON or Parquet, also gzipped; of a directory, "
        "the file of the chosen part is taken. The path stays in the link.",
        "이 창이 도는 컴퓨터의 경로입니다. CSV, TSV, JSON lines, JSON, Parquet와 gzip을 읽습니다. 폴더라면 고른 몫의 "
        "파일을 씁니다. 경로는 링크에 남습니다.",
    ),
    "evaluation.split": ("Part of a directory", "폴더 안의 분할"),
    "evaluation.split.validation": ("validation", "검증"),
    "evaluation.split.test": ("test", "시험"),
    "evaluation.split.train": ("train", "학습"),
    "evaluation.paste": ("Rows, with the names of the columns above", "열 이름을 첫 줄에 적은 자료"),
    "evaluation.upload": (
        "CSV, TSV, JSON lines, JSON or Parquet; nothing leaves this machine",
        "CSV, TSV, JSON lines, JSON, Parquet. 아무것도 이 컴퓨터 밖으로 나가지 않습니다",
    ),
    "evaluation.column.text": ("Column of the text", "글이 있는 열"),
    "evaluation.column.pair": ("Column of the second text", "둘째 글이 있는 열"),
    "evaluation.column.label": ("Column of the answer", "정답이 있는 열"),
    "evaluation.most": ("Rows at most", "최대 행 수"),
    "evaluation.most.help": (
        "Chosen evenly from the first row to the last. More rows take longer and vary less: with 100 rows an accuracy "
        "of 80% may be 8 points off, with 500 rows 3.5.",
        "처음부터 끝까지 고르게 뽑습니다. 많을수록 오래 걸리지만 덜 흔들립니다. 정확도 80%라면 100행에서는 8점, "
        "500행에서는 3.5점쯤 어긋날 수 있습니다.",
    ),
    "evaluation.empty.classify": (
        "Name a file with labelled rows. It needs a column with the text (for pairs a second one) and a column with "
        "the label, by its name or its number. Such as:",
        "정답이 달린 파일을 알려 주세요. 글이 있는 열(두 글이면 둘째 열도)과 분류의 이름이나 번호가 있는 열이 있어야 "
        "합니다. 이런 모양입니다.",
    ),
    "evaluation.empty.regress": (
        "Name a file with labelled rows. It needs a column with the text (for pairs a second one) and a column with "
        "the number. Such as:",
        "정답이 달린 파일을 알려 주세요. 글이 있는 열(두 글이면 둘째 열도)과 수가 있는 열이 있어야 합니다. "
        "이런 모양입니다.",
    ),
    "evaluation.empty.choose": (
        "Name a file with labelled rows. It needs a column with the context, the choices, and the number of the right "
        "one, counted from 0. Such as:",
        "정답이 달린 파일을 알려 주세요. 앞글과 고를 것들, 그리고 0부터 센 정답의 번호가 있어야 합니다. "
        "이런 모양입니다.",
    ),
    "evaluation.empty.tag": (
        "Name a file with labelled rows. It needs a column with the words and one with as many tags, as lists or with "
        "spaces between. Such as:",
        "정답이 달린 파일을 알려 주세요. 낱말이 있는 열과, 같은 수의 꼬리표가 있는 열이 있어야 합니다. 목록이거나 "
        "빈칸으로 나눈 글입니다. 이런 모양입니다.",
    ),
    "evaluation.empty.span": (
        "Name a file of questions: SQuAD's JSON, or a table with columns question, context and answers (each answer's "
        "text; its place where answer_start says, else where it first occurs); empty where the passage has none. Such "
        "as:",
        "질문 파일을 알려 주세요. SQuAD의 JSON이거나, question, context, answers(답의 글. 위치는 answer_start, 없으면 "
        "처음 나오는 곳) 열이 있는 표입니다. 글에 답이 없으면 비워 둡니다. 이런 모양입니다.",
    ),
    "evaluation.try": ("Try these rows", "이것으로 해 보기"),
    "evaluation.run": ("Evaluate {count} rows", "{count}행 평가하기"),
    "evaluation.progress": ("{share:.0%} asked", "{share:.0%} 물음"),
    "evaluation.unlinked": (
        "An uploaded file does not travel with the link.",
        "올린 파일은 링크에 담기지 않습니다.",
    ),
    "evaluation.every": ("All {total} rows.", "{total}행 모두입니다."),
    "evaluation.every.used": (
        "All {total} rows that can be used; {useless} cannot be.",
        "쓸 수 있는 {total}행 모두입니다. {useless}행은 쓸 수 없습니다.",
    ),
    "evaluation.only": ("One row, which says little.", "한 행뿐이라 알 수 있는 것이 적습니다."),
    "evaluation.only.used": (
        "The only row that can be used; {useless} cannot be.",
        "쓸 수 있는 단 한 행입니다. {useless}행은 쓸 수 없습니다.",
    ),
    "evaluation.rows": (
        "{count} of {total} rows, chosen evenly from the first to the last.",
        "{total}행 가운데 처음부터 끝까지 고르게 뽑은 {count}행입니다.",
    ),
    "evaluation.rows.used": (
        "{count} of the {total} rows that can be used, chosen evenly from the first to the last; {useless} cannot be.",
        "쓸 수 있는 {total}행 가운데 처음부터 끝까지 고르게 뽑은 {count}행입니다. {useless}행은 쓸 수 없습니다.",
    ),
    "evaluation.commonest": (
        "Always giving the commonest answer would be right {share:.1%} of the time.",
        "가장 흔한 답만 말해도 {share:.1%}는 맞습니다.",
    ),
    "evaluation.left-out": (
        "{count} rows cannot be used and are left out. The first: {first}",
        "쓸 수 없는 {count}행을 뺐습니다. 첫째: {first}",
    ),
    "evaluation.left-out.one": (
        "One row cannot be used and is left out: {first}",
        "쓸 수 없는 한 행을 뺐습니다. {first}",
    ),
    "evaluation.left-out.all": ("All {count} rows left out, and why", "뺀 {count}행 모두와 그 까닭"),
    "evaluation.left-out.some": (
        "The first {shown} of {count} rows left out, and why",
        "뺀 {count}행 가운데 앞의 {shown}행과 그 까닭",
    ),
    "evaluation.confusion": ("What it takes for what", "무엇을 무엇으로 보나"),
    "evaluation.confusion.lead": (
        "Down: what the data gives. Across: what the model says. Click a cell, or choose it below, for its examples.",
        "세로는 데이터의 정답, 가로는 모델의 답입니다. 칸을 누르거나 아래에서 고르면 그 예가 보입니다.",
    ),
    "evaluation.confusion.tag": (
        "Whole names by kind; down what the data gives, across what the model says. One whose ends differ counts as "
        "missed and as invented. Click a cell, or choose it below, to see its sentences.",
        "이름 하나를 통째로 갈래별로 셉니다. 세로는 데이터의 정답, 가로는 모델의 답입니다. 끝이 어긋난 이름은 "
        "놓친 것과 지어낸 것으로 함께 셉니다. 칸을 누르거나 아래에서 고르면 그 문장이 보입니다.",
    ),
    "evaluation.groups": ("Which questions it can answer", "어떤 질문에 잘 답하나"),
    "evaluation.by": ("By", "나누기"),
    "evaluation.by.question": ("question word", "물음말"),
    "evaluation.by.length": ("words of the given answer", "정답의 낱말 수"),
    "evaluation.other": ("other", "그 밖"),
    "evaluation.percent": ("percent", "퍼센트"),
    "evaluation.values": ("Given and said", "정답과 답"),
    "evaluation.values.lead": (
        "Each point is a row; on the dotted line both are equal. Click one to see it.",
        "점 하나가 한 행이고, 점선 위에서는 둘이 같습니다. 점을 누르면 그 행이 보입니다.",
    ),
    "evaluation.given": ("given", "정답"),
    "evaluation.said": ("said", "답"),
    "evaluation.share": ("of what is given", "정답 가운데"),
    "evaluation.chance": ("probability of what is given", "정답의 확률"),
    "evaluation.nothing": ("nothing", "없음"),
    "evaluation.show": ("Show", "보기"),
    "evaluation.all": ("all, hardest first", "모두, 어려운 것부터"),
    "evaluation.cell": ("given: {given} · said: {said} ({count})", "정답: {given} · 답: {said} ({count})"),
    "evaluation.hardest": ("The hardest examples", "가장 어려운 예"),
    "evaluation.chosen": ("The chosen examples", "고른 예"),
    "evaluation.listed": ("{shown} of {count}, hardest first.", "{count}개 가운데 어려운 것부터 {shown}개입니다."),
    "evaluation.listed.all": ("All {count}, hardest first.", "{count}개 모두, 어려운 것부터입니다."),
    "evaluation.open": ("Open in the Attention page", "어텐션 화면에서 보기"),
    "evaluation.download": ("All {count} as CSV", "{count}개 모두 CSV로"),
    "measure.accuracy": ("accuracy", "정확도"),
    "measure.f1": ("F1", "F1"),
    "measure.f1_from_3": ("F1 of values from 3 on", "3점 이상의 F1"),
    "measure.matthews": ("Matthews correlation × 100", "매슈스 상관 계수 × 100"),
    "measure.pearson": ("Pearson's r × 100", "피어슨 상관 계수 × 100"),
    "measure.spearman": ("Spearman's rho × 100", "스피어만 순위 상관 × 100"),
    "measure.entity_f1": ("entities, F1", "개체명 F1"),
    "measure.entity_precision": ("entities, precision", "개체명 정밀도"),
    "measure.entity_recall": ("entities, recall", "개체명 재현율"),
    "measure.entity_f1_macro": ("entities, mean F1 of the kinds", "개체명 갈래별 F1 평균"),
    "measure.character_f1_macro": ("characters, mean F1 of the tags", "글자 꼬리표별 F1 평균"),
    "measure.exact_match": ("exact match", "완전 일치"),
    "measure.rouge_w": ("ROUGE-W", "ROUGE-W"),
    "measure.has_answer_f1": ("F1 where there is an answer", "답이 있을 때 F1"),
    "measure.no_answer_f1": ("right where there is none", "답이 없을 때 맞힘"),
    "measure.best_f1": ("F1 at the best threshold", "가장 좋은 문턱에서 F1"),
    "measure.best_rouge_w": ("ROUGE-W at the best threshold", "가장 좋은 문턱에서 ROUGE-W"),
    "measure.null_threshold": ("threshold used (τ)", "쓴 문턱(τ)"),
}
