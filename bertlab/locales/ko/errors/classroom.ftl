## 수업 파일

lesson-not-found = { $name }: 그런 수업이나 파일이 없어요. 수업 파일의 경로나 다음 중 하나를 써 주세요: { $known }
lesson-not-toml = { $path }, { $line }: 올바른 TOML이 아니에요 ({ $reason })
lesson-line = { $number }번째 줄
lesson-last-line = 마지막 줄
lesson-not-a-table = { $path }, { $place }: 필드가 있는 표여야 해요.
lesson-field-unknown = { $path }, { $place }: { $field }: 쓸 수 없는 필드예요. 쓸 수 있는 필드: { $known }
lesson-field-missing = { $path }, { $place }: { $field } 필드가 없어요. 필요한 값: { $expected }
lesson-field-invalid = { $path }, { $place }: { $field } 필드가 잘못됐어요. 필요한 값: { $expected }
lesson-place-top = 파일 첫머리
lesson-place-step = { $number }번째 단계
lesson-place-question = { $number }번째 단계의 질문
lesson-expected-text = 따옴표로 묶은 텍스트
lesson-expected-flag = true 또는 false
lesson-expected-number = 수
lesson-expected-minutes = { $limit } 이하의 정수(분)
lesson-expected-steps = 하나 이상의 [[steps]] 표
lesson-expected-page = 페이지 주소. 예: "attention?layer=1". 페이지 이름: { $pages }
lesson-expected-kind = { $kinds } 가운데 하나
lesson-expected-choices = 텍스트 2개에서 { $limit }개까지의 목록
lesson-expected-choice = 정답 보기의 번호(1부터 { $count }까지)

## 수업

class-file-unusable = { $path }: 학생들의 예측을 저장할 수 없어요: { $reason }
class-needs-key = 이 수업의 선생님만 할 수 있어요. 선생님용 주소로 접속해 주세요.
guesses-missing = 예측이 없어요. 단어를 하나 이상 입력해 주세요.
guesses-no-mask = 텍스트에 [MASK]가 없거나, 고른 학습 기록의 모델이 가려진 단어를 예측하는 모델이 아니에요. 단어 대신 [MASK]를 입력해 주세요.
live-run-busy = 이미 학습하고 있어요. 끝날 때까지 기다리거나 취소해 주세요.
live-text-length = 텍스트가 { $count }자예요. { $low }자에서 { $high }자까지 붙여 넣어 주세요.
lesson-expected-pages = 페이지 이름의 목록. 예: ["attention"]. 페이지 이름: { $pages }
lesson-expected-names = { $names ->
        [none] 중괄호가 없는 텍스트({ $page } 페이지에서 계산하는 값이 없어요)
       *[other] 텍스트. 중괄호 안에는 { $page } 페이지에서 계산하는 값의 이름만 쓸 수 있어요: { $names }
    }
