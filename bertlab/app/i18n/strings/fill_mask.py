"""The words of the page *fill mask*."""

STRINGS = {
    "fill-mask": ("Fill mask", "빈칸 채우기"),
    "fill-mask.title": ("Hide a word", "낱말 숨기기"),
    "fill-mask.lead": (
        "Click a word and BERT says what it would put there. Click it again to bring it back.",
        "낱말을 누르면 BERT가 그 자리에 무엇을 넣을지 말합니다. 다시 누르면 돌아옵니다.",
    ),
    "fill-mask.text": ("Text", "글"),
    "fill-mask.text.help": ("You may also type [MASK] yourself.", "[MASK]라고 직접 적어도 됩니다."),
    "fill-mask.reset": ("Show every word again", "모두 되돌리기"),
    "fill-mask.top": ("Proposals", "후보 수"),
    "fill-mask.none": ("Click a word above to hide it.", "위에서 낱말을 하나 눌러 숨겨 보세요."),
    "fill-mask.empty": ("The text is empty: type some words.", "글이 비어 있습니다. 몇 낱말을 적어 보세요."),
    "fill-mask.hidden": ("“{word}” hidden", "숨긴 낱말 “{word}”"),
    "fill-mask.mask": ("[MASK] number {number}", "[MASK] {number}번째"),
}
