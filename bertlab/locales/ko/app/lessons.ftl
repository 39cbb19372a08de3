lessons = 수업
lessons-title = 수업: 먼저 예측하고, 그다음에 확인해요
lessons-lead = 수업에서는 이 앱의 페이지를 한 단계씩 둘러봐요. 결과를 보기 전에 먼저 질문에 답해요.
lessons-about = 수업은 여러 단계로 되어 있고, 단계마다 이 앱의 페이지와 설명, 그리고 대개 질문이 하나 있어요. 설명만 읽는 것보다 예측이 빗나간 경험이 오래 기억에 남기 때문에, 결과를 보기 전에 먼저 답해요. 혼자 하면 내 답만 보이고, 학급에서 하면 모두의 예측이 함께 보여요.
lessons-try = 첫 번째 수업을 시작해서 첫 질문에 답해 보세요.
start-lessons = 혼자 수업을 따라가거나, 학급에서 함께 해 보세요.
lessons-in-class = 지금 수업 중이에요. 이 페이지의 수업 패널에는 선생님이 고른 단계가 나와요.
lessons-steps = 총 { $count }단계
lessons-start = 시작
lessons-class = 학급에서 가르치기
lessons-class-lead = 이 명령은 이 컴퓨터에서 수업을 시작하고, 학생용 주소와 선생님용 주소를 출력해요. 학생은 이름을 입력하지 않아요. 답은 `runs/classroom`에 저장돼요.
lessons-own-lead = 수업은 텍스트 파일이에요. `bertlab/locales/ko/classroom`에서 수업 하나를 복사해 고친 다음 시작하세요.

## 수업 패널

class-step-of = { $count }단계 중 { $number }단계
class-question = 질문:
class-guess = 내 예측
class-send = 예측 보내기
class-change = 예측 바꾸기
class-guess-sent = 내 예측: { $guess }. 정답이 나오기 전까지 바꿀 수 있어요.
class-own-guess = 내 예측: { $guess }
class-guess-first = 먼저 하나를 고르거나 입력해 주세요.
class-question-closed = 질문이 이미 닫혀서 예측을 보내지 못했어요.
class-page-hidden = 이 단계의 페이지는 정답이 나올 때까지 가려져 있어요. 먼저 예측해 보세요.
class-not-open = 선생님이 질문을 열 때까지 기다려 주세요.
class-answer = 정답: { $answer }
class-answers = 정답
class-guesses = 우리 반의 예측
class-you = 나
class-median = 중앙값: { $median }
class-other-guesses = 그 밖
class-back = 이전
class-next = 다음
class-page-again = 이 단계의 페이지 다시 열기
class-leave = 수업 나가기
class-finish = 마치기
class-what-next = 다음에는 무엇을 볼까요?
class-minutes = { $count }분
class-page-link = 이 단계의 페이지 열기

## 선생님 패널

class-answered = { $waiting ->
        [0] { $present ->
            [0] 아직 들어온 학생이 없어요.
           *[other] { $present }명이 모두 답했어요.
        }
       *[other] { $present }명 중 { $answered }명이 답했어요. 아직 { $waiting }명이 남았어요.
    }
class-here = { $count ->
        [0] 아직 들어온 학생이 없어요.
       *[other] 학생 { $count }명이 들어와 있어요.
    }
class-open = 질문 열기
class-reveal = 정답 보여 주기
class-open-again = 질문 다시 열기
class-notes = 메모:
class-steps = 모든 단계
class-menu = 학급
class-join = 참여 주소:
class-qr-code = 학생용 주소의 QR 코드
class-present = 프로젝터용 화면
class-handout = 유인물(HTML)
class-csv = 예측 모음(CSV)
class-delete = 모든 예측 삭제
class-delete-sure = 모든 예측을 지우고 처음부터 시작할래요
class-deleted = 모든 예측을 지웠어요.
lessons-notebooks = 노트북: 직접 계산해 보기
lessons-notebooks-lead = 이 앱의 화면이 보여 주는 것을 파이썬으로 직접 계산해 보는 주피터 노트북이에요. 연습 문제와 풀이가 있어요. bertlab 폴더에서 이 명령을 실행하세요.
