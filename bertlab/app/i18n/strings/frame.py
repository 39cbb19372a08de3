"""What stays while pages change."""

STRINGS = {
    "checkpoint": ("Checkpoint", "체크포인트"),
    "checkpoint.help": (
        "Pick one, or type a directory on this machine or a Hugging Face id and press Enter. "
        "*auto* opens the one that suits each page.",
        "하나를 고르거나, 이 컴퓨터의 폴더 또는 Hugging Face 이름을 적고 Enter를 누르세요. "
        "*auto*는 화면마다 알맞은 것을 엽니다.",
    ),
    "checkpoint.unused": (
        "This page chooses what it opens itself. What is chosen here stays for the other pages.",
        "이 화면은 열 것을 따로 고릅니다. 여기서 고른 것은 다른 화면에 그대로 쓰입니다.",
    ),
    "checkpoint.stays": ("Still open:", "그대로 열려 있습니다:"),
    "checkpoint.size": ("{layers} layers × {heads} heads · {hidden} wide", "층 {layers} × 헤드 {heads} · 폭 {hidden}"),
    "checkpoint.none": (
        "No checkpoint is shipped here yet. Type a directory or a Hugging Face id in the sidebar.",
        "아직 함께 제공되는 체크포인트가 없습니다. 왼쪽에 폴더나 Hugging Face 이름을 적으세요.",
    ),
    "checkpoint.make": (
        "No checkpoint for this page is shipped yet. This command makes one; then type the directory at its end "
        "into Checkpoint, in the sidebar.",
        "이 화면에 맞는 체크포인트는 아직 함께 제공되지 않습니다. 이 명령으로 만든 다음, 명령 끝의 "
        "폴더를 왼쪽 체크포인트에 적으세요.",
    ),
    "language": ("Language", "언어"),
    "undo": ("Undo", "실행 취소"),
    "undo.help": (
        "Takes back the latest change on this page: a text, a choice, a hidden word, the checkpoint.",
        "이 화면에서 마지막으로 바꾼 것을 되돌립니다. 글, 선택, 숨긴 낱말, 체크포인트 모두 됩니다.",
    ),
    "undo.nothing": ("Nothing was changed on this page.", "이 화면에서 바꾼 것이 없습니다."),
    "long.link": (
        "This text is too long for a link: a copied address will not bring it back.",
        "글이 너무 길어 주소에 담을 수 없습니다. 복사한 주소로는 되살아나지 않습니다.",
    ),
    "column.none": ("none", "없음"),
    "download.html": ("Save as one HTML file", "HTML 파일 하나로 저장"),
    "sentence.a": ("Sentence A", "문장 A"),
    "sentence.b": ("Sentence B", "문장 B"),
    "sentence.b.empty": ("may stay empty", "비워 두어도 됩니다"),
    "open.instead": ("Open the checkpoint that suits this page", "이 화면에 맞는 체크포인트 열기"),
    # the sections of the menu
    "section.see": ("See", "보기"),
    "section.ask": ("Ask", "묻기"),
    "section.change": ("Change", "바꾸기"),
    "section.learn": ("Learn", "배우기"),
}
