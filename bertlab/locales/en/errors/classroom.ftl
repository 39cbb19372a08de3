## Lesson files

lesson-not-found = there is no lesson or file { $name }: give the path of a lesson file, or one of { $known }
lesson-not-toml = { $path }, { $line }: this is not valid TOML ({ $reason })
lesson-line = line { $number }
lesson-last-line = the last line
lesson-not-a-table = { $path }, { $place }: expected a table with fields
lesson-field-unknown = { $path }, { $place }: there is no field { $field }; the fields are { $known }
lesson-field-missing = { $path }, { $place }: the field { $field } is missing; expected { $expected }
lesson-field-invalid = { $path }, { $place }: the field { $field } is invalid; expected { $expected }
lesson-place-top = top of the file
lesson-place-step = step { $number }
lesson-place-question = question of step { $number }
lesson-expected-text = a text in quotation marks
lesson-expected-flag = true or false
lesson-expected-number = a number
lesson-expected-minutes = a whole number of minutes, at most { $limit }
lesson-expected-steps = one [[steps]] table or more
lesson-expected-page = the address of a page, such as "attention?layer=1"; the pages are { $pages }
lesson-expected-kind = one of { $kinds }
lesson-expected-choices = a list of 2 to { $limit } texts
lesson-expected-choice = the number of the correct choice, from 1 to { $count }

## The class

class-file-unusable = the guesses cannot be stored in { $path }: { $reason }
class-needs-key = only the teacher of this class can do this: open the teacher's address
guesses-missing = there are no guesses: type at least one word
guesses-no-mask = the text has no [MASK], or the run does not predict masked words: type [MASK] in place of a word
live-run-busy = a run is in progress: wait until it has finished, or cancel it
live-text-length = the text has { $count } characters: paste a text of { $low } to { $high } characters
lesson-expected-pages = a list of names of pages, such as ["attention"]; the pages are { $pages }
lesson-expected-names = { $names ->
        [none] a text without placeholders, because the page { $page } computes no values
       *[other] a text whose placeholders are names of values that the page { $page } computes; these are: { $names }
    }
