"""The words of the page *time machine*."""

STRINGS = {
    "time-machine": ("Time machine", "타임머신"),
    "time-machine.title": ("Watch it learn", "배워 가는 모습"),
    "time-machine.lead": (
        "One slider over the checkpoints that a training run kept: attention, missing words and next sentence, from "
        "random numbers to what it knows now.",
        "학습하며 남긴 체크포인트를 슬라이더 하나로 오갑니다. 난수에서 시작해 지금까지 어텐션, 빈칸의 낱말, "
        "다음 문장 판단이 함께 바뀝니다.",
    ),
    "start.time-machine": (
        "Scrub through a training, from noise to words.",
        "난수에서 낱말까지, 학습을 되감아 봅니다.",
    ),
    "run": ("Training run", "학습 기록"),
    "run.help": (
        "Pick one, or type the directory that *bertlab pretrain* wrote and press Enter.",
        "하나를 고르거나, *bertlab pretrain*이 쓴 폴더를 적고 Enter를 누르세요.",
    ),
    "run.none": (
        "There is no training run here yet. Type a run's directory above, or make one of a text file or a folder of "
        "them (CORPUS):",
        "아직 학습 기록이 없습니다. 위에 학습 기록의 폴더를 적거나, 텍스트 파일이나 그 폴더(CORPUS)로 하나 만드세요.",
    ),
    "time-machine.a": ("Sentence A, with [MASK] for words to guess", "문장 A, 맞힐 낱말 자리에는 [MASK]"),
    "time-machine.working": ("Asking snapshot {done} of {of}", "스냅샷 {of}개 중 {done}번째에 묻는 중"),
}
