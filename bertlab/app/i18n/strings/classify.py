"""The words of the pages *classify* and *tag*, and of the box for many texts."""

STRINGS = {
    "classify": ("Classify", "분류"),
    "classify.title": ("What kind of text is it?", "어떤 글일까요?"),
    "classify.lead": (
        "Change a word and watch the label move. Give a second text to a checkpoint that judges pairs.",
        "낱말을 바꾸며 분류가 움직이는 것을 보세요. 두 글을 견주는 체크포인트에는 둘째 글도 적으세요.",
    ),
    "start.classify": ("One label for a text, as you type.", "글을 쓰는 대로 분류합니다."),
    "classify.text": ("Text", "글"),
    "classify.pair": ("Second text", "둘째 글"),
    "classify.single": (
        "This checkpoint was taught one text at a time.",
        "이 체크포인트는 글을 하나씩 읽도록 배웠습니다.",
    ),
    "classify.second": ("Add a second text", "둘째 글 더하기"),
    "classify.compares": (
        "This checkpoint compares two texts: give a second one.",
        "이 체크포인트는 두 글을 견줍니다. 둘째 글도 적어 주세요.",
    ),
    "classify.words": ("Which words speak for it", "어느 낱말이 그 분류를 밀어 주나"),
    "classify.words.help": (
        "Each word is hidden in turn. Blue and underlined: without it the label would be less sure, so it speaks for "
        "it. Orange and dotted: it speaks against. Words that matter only together are not found this way.",
        "낱말을 하나씩 가려 봅니다. 파랑과 실선은 그 낱말이 없으면 확신이 줄어드는, 곧 분류를 밀어 주는 낱말입니다. "
        "주황과 점선은 거스르는 낱말입니다. 여럿이 함께일 때만 중요한 낱말은 이렇게 찾지 못합니다.",
    ),
    "classify.value.title": ("What value does it get?", "값은 얼마일까요?"),
    "classify.value.lead": (
        "Change a word and watch the value move.",
        "낱말을 바꾸며 값이 움직이는 것을 보세요.",
    ),
    "classify.value.words": ("Which words raise or lower it", "어느 낱말이 값을 올리고 내리나"),
    "classify.value.words.help": (
        "Each word is hidden in turn. Blue and underlined: without it the value is lower, so it raises the value. "
        "Orange and dotted: it lowers it. Words that matter only together are not found this way.",
        "낱말을 하나씩 가려 봅니다. 파랑과 실선은 그 낱말이 없으면 값이 줄어드는, 곧 값을 올리는 낱말입니다. 주황과 "
        "점선은 값을 내리는 낱말입니다. 여럿이 함께일 때만 중요한 낱말은 이렇게 찾지 못합니다.",
    ),
    "classify.weigh": ("Weigh all {count} words", "낱말 {count}개 모두 재기"),
    "classify.odds": ("drop of the log-odds without it", "없을 때 줄어드는 로그 오즈"),
    "classify.value": ("drop of the value without it", "없을 때 줄어드는 값"),
    "classify.scale": (
        "learned from values between {low:.4g} and {high:.4g}",
        "{low:.4g}에서 {high:.4g} 사이의 값으로 배움",
    ),
    "classify.attention": ("Open in the Attention page", "어텐션 화면에서 보기"),
    "tag": ("Tag", "개체명"),
    "tag.title": ("Who, where, what?", "누가, 어디서, 무엇을?"),
    "tag.lead": (
        "A tag for every word: the names in a text light up. Hover over one to see what else it might have been.",
        "낱말마다 꼬리표를 붙여 글 속의 이름에 불을 켭니다. 이름 위에 마우스를 올리면 다른 가능성도 보입니다.",
    ),
    "start.tag": ("The names in a text light up.", "글 속의 이름에 불이 들어옵니다."),
    "tag.text": ("Text", "글"),
    "tag.none": ("No name was found in this text.", "이 글에서는 이름을 찾지 못했습니다."),
    "tag.hover": (
        "Hover over a marked part, or reach it with the Tab key, for the probabilities of its tags.",
        "표시된 부분에 마우스를 올리거나 Tab 키로 가면 꼬리표의 확률이 보입니다.",
    ),
    "tag.entity": ("Name", "이름"),
    "tag.kind": ("Kind", "갈래"),
    "tag.probability": ("Probability", "확률"),
    "tag.every": ("Every word, every tag", "모든 낱말, 모든 꼬리표"),
    "batch": ("Many texts at once", "여러 글을 한꺼번에"),
    "batch.paste": ("Paste texts, one a line, or a table", "한 줄에 하나씩, 또는 표로 붙여 넣기"),
    "batch.paste.help": (
        "One text a line; or a table out of a spreadsheet or a CSV file, with the names of its columns in the first "
        "line.",
        "한 줄에 글 하나. 또는 스프레드시트나 CSV에서 복사한, 첫 줄에 열 이름이 있는 표.",
    ),
    "batch.table": (
        "Read as a table of {rows} rows and {columns} columns, whose names are in its first line.",
        "{rows}행 {columns}열의 표로 읽었습니다. 첫 줄은 열의 이름입니다.",
    ),
    "batch.table.bare": (
        "Read as a table of {rows} rows and {columns} columns, for the tabs in every line. No column is called *text* "
        "or *sentence*, so the first line is a row like the others.",
        "줄마다 탭이 있어 {rows}행 {columns}열의 표로 읽었습니다. *text*나 *sentence* 같은 열 이름이 없으므로 첫 줄도 "
        "하나의 행입니다.",
    ),
    "batch.file": ("Or upload a table", "또는 표 파일 올리기"),
    "batch.empty": (
        "Paste lines or a table, or upload CSV, TSV, JSON lines or Parquet; nothing leaves this machine.",
        "줄이나 표를 붙여 넣거나 CSV, TSV, JSON lines, Parquet 파일을 올리세요. 아무것도 이 컴퓨터 밖으로 "
        "나가지 않습니다.",
    ),
    "batch.most": (
        "{count} rows are more than are asked at once: only the first {most} are taken.",
        "{count}행은 한 번에 묻기에 많아, 앞의 {most}행만 묻습니다.",
    ),
    "batch.missing": (
        "Rows without a text: {count}, the first is row {first}. Such a row keeps its place and is not answered.",
        "글이 없는 행이 {count}개 있습니다. 첫째는 {first}행입니다. 자리는 그대로 두고 묻지 않습니다.",
    ),
    "batch.unanswered": (
        "Not answered: {count} of {of} rows; the last column says why.",
        "{of}행 가운데 {count}행은 답하지 못했습니다. 까닭은 마지막 열에 있습니다.",
    ),
    "batch.pairs": (
        "This checkpoint compares two texts: give a table with a column for each, and choose the column of the second.",
        "이 체크포인트는 두 글을 견줍니다. 글마다 열이 있는 표를 주고, 둘째 글이 있는 열을 골라 주세요.",
    ),
    "batch.ask": ("Ask all {count}", "{count}개 모두 묻기"),
    "batch.text": ("text", "글"),
    "batch.predicted": ("predicted", "예측"),
    "batch.predicted_entities": ("predicted_entities", "예측한 개체명"),
    "batch.predicted_tags": ("predicted_tags", "예측한 꼬리표"),
    "batch.probability": ("probability", "확률"),
    "batch.error": ("error", "오류"),
    "batch.download": ("Download as CSV", "CSV로 내려받기"),
    "batch.column": ("Column of the text", "글이 있는 열"),
    "batch.pair": ("Column of the second text", "둘째 글이 있는 열"),
    "batch.progress": ("{done} of {count}", "{count}개 가운데 {done}개"),
}
