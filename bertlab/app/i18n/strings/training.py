"""The words of the page *training*."""

STRINGS = {
    "training": ("Training", "학습"),
    "training.title": ("How a run goes", "학습의 경과"),
    "training.lead": (
        "The curves of every training run in a directory, drawn live while one is under way: how a checkpoint came "
        "to be.",
        "폴더 안의 모든 학습 기록을 그립니다. 진행 중이면 실시간으로 움직입니다. 체크포인트가 만들어진 과정입니다.",
    ),
    "start.training": ("Loss and accuracy of every run, live.", "모든 학습의 손실과 정답률을 실시간으로 봅니다."),
    "training.directory": ("Directory of runs", "학습 기록 폴더"),
    "training.directory.help": (
        "A directory with runs in it, or a single run, as *bertlab pretrain* writes them. The shipped runs are always "
        "offered too.",
        "*bertlab pretrain*이 쓴 학습 기록이 든 폴더나, 학습 기록 하나의 폴더입니다. "
        "함께 제공되는 기록은 늘 고를 수 있습니다.",
    ),
    "training.runs": ("Runs", "학습 기록"),
    "training.choose": ("Choose runs", "학습 기록을 고르세요"),
    "training.none": (
        "There is no run in {directory}: name a directory that bertlab pretrain wrote, or the one it lies in. "
        "Below are the runs that come with bertlab.",
        "{directory}: 학습 기록이 없습니다. bertlab pretrain이 쓴 폴더나 그것이 든 폴더를 적으세요. "
        "아래는 함께 제공되는 기록입니다.",
    ),
    "training.live": ("Draw live", "실시간으로 그리기"),
    "training.live.help": (
        "A run is under way, and everything is drawn anew every few seconds. Switch it off to zoom into a curve or to "
        "hide a run in peace.",
        "진행 중인 학습이 있어 몇 초마다 새로 그립니다. 곡선을 확대하거나 기록을 숨기고 천천히 보려면 끄세요.",
    ),
    "training.x": ("Over", "가로축"),
    "training.tokens": ("tokens", "토큰"),
    "training.step": ("steps", "스텝"),
    "training.seconds": ("seconds", "초"),
    "training.scale": ("Scale of that axis", "가로축 눈금"),
    "training.linear": ("linear", "선형"),
    "training.log": ("logarithmic", "로그"),
    "training.nothing": ("Choose a run above to see its curves.", "위에서 학습 기록을 고르면 곡선이 보입니다."),
    "training.silent": ("No row has been written to this log yet.", "아직 기록된 행이 없습니다."),
    "training.loss": ("loss", "손실"),
    "training.masked_accuracy": ("missing words right", "빈칸 정답률"),
    "training.nsp_accuracy": ("next sentence right", "다음 문장 정답률"),
    "training.order_accuracy": ("sentence order right", "문장 순서 정답률"),
    "training.bits_per_character": ("bits per character", "글자당 비트"),
    "training.tag_accuracy": ("tags right", "꼬리표 정답률"),
    "training.error": ("distance from the value", "정답 값과의 차이"),
    "training.rate": ("learning rate", "학습률"),
    "training.recent": ("loss, last {steps} steps", "손실, 최근 {steps}스텝"),
    "training.held-out": ("held-out text", "따로 떼어 둔 글"),
    "training.diamonds": (
        "Lines are the text being read, faint as it was and full as a running mean; diamonds are held-out text.",
        "선은 읽고 있는 글에서 잰 값(흐린 선)과 그 둘레의 평균, 마름모는 따로 떼어 둔 글에서 잰 값입니다.",
    ),
    "training.run": ("run", "기록"),
    "training.state": ("state", "상태"),
    "training.state.running": ("running", "진행 중"),
    "training.state.finished": ("finished", "끝남"),
    "training.state.stopped": ("stopped", "멈춤"),
    "training.state.diverged": ("diverged", "발산"),
    "training.minutes": ("minutes", "분"),
    "training.speed": ("tokens/s", "초당 토큰"),
    "training.stopped": (
        "{run} stopped at step {step:,}: nothing was written for {minutes:,.0f} minutes, and there is no result. "
        "The same command goes on from there.",
        "{run}: 스텝 {step:,}에서 멈췄습니다. {minutes:,.0f}분 동안 기록이 없고 결과도 없습니다. "
        "같은 명령을 다시 내리면 이어서 합니다.",
    ),
    "training.diverged": (
        "{run} diverged by step {step:,}: its loss is no number, or far above the lowest it had. "
        "A lower --optim.lr helps.",
        "{run}: 스텝 {step:,}까지 와서 발산했습니다. 손실이 수가 아니거나 가장 낮았을 때보다 훨씬 큽니다. "
        "--optim.lr을 낮춰 보세요.",
    ),
    "training.apart": ("What sets these runs apart", "이 기록들의 다른 점"),
    "training.flag": ("setting", "설정"),
    "training.watched": ("What it says of the same sentences", "같은 문장에 대한 대답"),
    "training.sentence": ("sentence", "문장"),
    "training.guesses": ("best guesses", "가장 그럴듯한 낱말"),
}
