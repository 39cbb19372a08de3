lessons = Lessons
lessons-title = Lessons: predict first, then look
lessons-lead = A lesson leads you through pages of this app, step by step. You answer questions before you see the results.
lessons-about = A lesson is a list of steps, each with a page of this app, an explanation and often a question. You answer before the result is shown, because a wrong answer of your own is remembered better than a right explanation. If you work alone, you see your own answer; in a class, everyone sees how often each answer was given.
lessons-try = Start the first lesson and answer its first question.
start-lessons = Go through a lesson alone, or teach one to a class.
lessons-in-class = A class is running: the lesson panel of this page shows the step that the teacher has chosen.
lessons-steps = { $count ->
        [one] 1 step
       *[other] { $count } steps
    }
lessons-start = Start
lessons-class = Teach a class
lessons-class-lead = This command starts a class on this machine. It prints an address for the students and another address for you. Students need no names; their guesses are stored under `runs/classroom`.
lessons-own-lead = A lesson is a text file. Copy a lesson from `bertlab/locales/en/classroom`, change the copy, and start it:

## The panel of a lesson

class-step-of = step { $number } of { $count }
class-question = Question:
class-guess = Your guess
class-send = Send my guess
class-change = Change my guess
class-guess-sent = Your guess: { $guess }. You can change it until the answer is shown.
class-own-guess = Your guess: { $guess }
class-guess-first = Choose or type a guess first.
class-question-closed = The question is closed: your guess came too late.
class-page-hidden = The page of this step is hidden until the answer is shown. Make a guess first.
class-not-open = Wait until the teacher opens the question.
class-answer = Answer: { $answer }
class-answers = Answers
class-guesses = The guesses of the class
class-you = you
class-median = Median: { $median }
class-other-guesses = others
class-back = Back
class-next = Next
class-page-again = Open this step's page again
class-leave = Skip the rest of the lesson
class-finish = Finish
class-what-next = What next?
class-minutes = { $count ->
        [one] 1 minute
       *[other] { $count } minutes
    }
class-page-link = Open the page of this step

## The panel of the teacher

class-answered = { $waiting ->
        [0] { $present ->
            [0] No student is here yet.
            [one] The only student has answered.
           *[other] All { $present } students have answered.
        }
       *[other] { $answered } of { $present } students have answered.
    }
class-here = { $count ->
        [0] No student has joined yet.
        [one] 1 student is here.
       *[other] { $count } students are here.
    }
class-open = Open the question
class-reveal = Show the answer
class-open-again = Open the question again
class-notes = Notes:
class-steps = All steps
class-menu = Class
class-join = Join at
class-qr-code = QR code of the students' address
class-present = View for the projector
class-handout = Handout (HTML)
class-csv = Guesses (CSV)
class-delete = Delete all guesses
class-delete-sure = I want to delete all guesses and begin again
class-deleted = All guesses are deleted.
lessons-notebooks = Notebooks: compute it yourself
lessons-notebooks-lead = In these notebooks you compute in Python what the pages of this app show. They contain exercises and solutions. Run this command in the directory of bertlab:
