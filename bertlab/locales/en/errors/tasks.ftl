cell-missing = has no value in the column { $column }
cell-not-text = has a value of type { $type } instead of text in the column { $column }
cell-without-text = has no text in the column { $column }
cell-blank = has only spaces in the column { $column }
cell-not-number = has { $cell } where a number is expected
cell-without-tokens = has no tokens in the column { $column }
cell-not-list-of-texts = has no list of texts in the column { $column }
row-empty = is empty
row-without-label = has no label in the column { $column }, unlike other rows
row-id-repeated = repeats the id of row { $row }
row-needs-two-choices = has fewer than two choices
row-needs-pair = has only one text, but sentence vectors are trained on pairs: name the second column with --pair-column
rows-without-entailment = no row of { $name } has the label entailment, so there is no pair to train on
row-choice-count-differs = has { $count ->
        [one] 1 choice
       *[other] { $count } choices
    }, but the first row has { $first }
row-tag-count-differs = has { $tags ->
        [one] 1 tag
       *[other] { $tags } tags
    } for { $tokens ->
        [one] 1 token
       *[other] { $tokens } tokens
    }
tag-empty = has an empty tag for { $token }
chosen-sentence-unknown = has { $index } as a chosen sentence; sentences are numbered from 0 to { $last }
chosen-sentence-not-found = has the chosen sentence { $sentence }, which is not a sentence of the document
label-unknown = has the unknown label { $label }; the labels are { $known }
label-unknown-of-many = has the unknown label { $label }; the labels are { $known } and more
choice-unknown = has the label { $label }; the label must be the number of a choice, 0 to { $last }
too-many-labels = { $name } has { FORMAT($labels, spec: ",") } different values in { $column } in { FORMAT($rows, spec: ",") } rows, so they do not look like labels; if they are numbers to predict, use --type regression
too-few-rows-to-hold-out = { $name } has only { $count ->
        [one] 1 row
       *[other] { $count } rows
    }, too few to hold out some for validation: pass validation rows with --validation
max-tokens-too-few = max_tokens is { $max_tokens }, which is too short for a text: use at least 5
number-below-one = { $name } is { $value }; it must be at least 1
one-label-only = every row of { $name } has the label { $label }: training needs at least two labels
rows-not-found = there is no file { $path }
training-rows-without-labels = { $name } has no labels to train on
no-usable-row = { $count ->
        [one] the only row of { $name } cannot be used
       *[other] none of the { $count } rows of { $name } can be used
    }
no-usable-row-because = { $error }; the first error: { $first }
task-without-test-split = { $task } has no unlabelled test split, so there is nothing to predict: evaluate on its validation split
rows-without-labels = { $name } has no labels, so it cannot be used for evaluation
held-out-rows-without-labels = { $name } has no labels, so it cannot be used for evaluation: pass labelled rows with --validation
checkpoint-lacks-labels = the checkpoint was fine-tuned on another task: it predicts { $labels }, but this task also has { $missing }
prediction-not-a-label = the prediction for row { $id } of { $name } is { $label }, which is not a label of the task
out-needs-directory = { $task } has several prediction files: pass a directory for --out instead of { $path }
predictions-without-columns = { $path } has no predictions: it needs the columns index and prediction
predictions-missing = { $path } has no prediction for { $count ->
        [one] row { $first } of { $name }
       *[other] { $count } rows of { $name }; the first is { $first }
    }
predictions-id-repeated = { $path } row { $row } has a second prediction for { $id }
predictions-id-unknown = { $path } row { $row } has a prediction for { $id }, but { $name } has no such id
predictions-count-differs = the number of predictions ({ $predictions }) is not the number of rows ({ $rows })
prediction-invalid = { $path } row { $row } has { $value }, which is not a prediction of this task
summary-scores-count-differs = the prediction for { $id } has { $scores ->
        [one] 1 score
       *[other] { $scores } scores
    }, but the document has { $count ->
        [one] 1 sentence
       *[other] { $count } sentences
    }
predictions-unreadable = cannot read { $path }: { $reason }
predictions-not-utf8 = { $path } is not UTF-8 text
conll-sentences-differ = { $path } has { $sentences ->
        [one] 1 sentence
       *[other] { $sentences } sentences
    }, but { $name } has { $expected }
conll-tags-differ = { $path } sentence { $sentence } has { $tags ->
        [one] 1 tag
       *[other] { $tags } tags
    } for { $tokens ->
        [one] 1 token
       *[other] { $tokens } tokens
    }
conll-tag-unknown = { $path } sentence { $sentence } has the unknown tag { $tag }
tag-predictions-count-differs = sentence { $sentence } has { $tags ->
        [one] 1 tag
       *[other] { $tags } tags
    }, but { $predicted ->
        [one] 1 predicted tag
       *[other] { $predicted } predicted tags
    }
answer-language-unknown = answers in { $language } cannot be scored; the supported languages are { $languages }
squad-version-unknown = SQuAD { $version } is unknown: use 1.1 or 2.0
answer-script-unknown = there is no evaluation script { $script }: use one of { $scripts }
predictions-for-other-questions = { $count ->
        [one] there is no prediction for the question: is this a prediction for another file?
       *[other] there is no prediction for any of the { $count } questions: are these predictions for another file?
    }
question-without-answer = question { $id } has no correct answer: is this file SQuAD v2.0?
questions-without-answers = no question has a correct answer (the first question is { $id }): is this file a test set, or SQuAD v2.0?
threshold-needs-scores = to use a threshold, also give the scores for “no answer”
no-answer-scores-missing = { $count ->
        [one] question { $first } lacks a no-answer score
       *[other] { $count } questions lack a no-answer score; the first is { $first }
    }
no-answer-scores-invalid = { $path } has no scores: it must be a JSON object with one number for each id
no-questions = { $name } has no questions
row-without-answer = has no answer: for SQuAD v2.0, use the task squad_v2
answer-empty = has an empty answer
answer-misplaced = has the answer { $answer }, which is not at character { $start } of its passage
answer-not-in-passage = has the answer { $answer }, which does not occur in its passage
answers-without-fields = has answers that lack the lists `text` and `answer_start`
answer-starts-differ = has lists `text` and `answer_start` of different lengths
answer-not-text = has an answer that is not text
answer-predictions-missing = { $path } has no predictions: it must be a JSON object with one answer text for each id, or rows with id and prediction_text
answer-prediction-not-text = { $path } has the prediction { $value } for { $id }; ids and answers must be text
answer-predicted-twice = { $path } has two predictions for { $id }
squad-key-missing = { $path } is not a SQuAD file: { $where } has no { $key }
squad-structure-invalid = { $path } is not a SQuAD file: { $where } has an unexpected structure
squad-place-top = the top level
squad-place-article = article { $article }
squad-place-question = article { $article }, paragraph { $paragraph }, question { $question }
no-trainable-row = no row is left to train on
question-empty = the question is empty: type a question
passage-empty = the passage is empty: type a passage
window-settings-below-one = stride ({ $stride }) and max_question ({ $max_question }) must be at least 1
passage-window-too-short = a window of { $max_tokens } tokens is too short for a question of { $question } tokens and a passage: raise max_tokens or shorten the question
unanswerable-share-invalid = the ratio of new unanswerable questions to answerable questions is { $share }; it must be more than 0 and at most 1
unanswerable-none-made = no unanswerable question could be made from these rows: are they English SQuAD rows?
kind-unknown = there is no task type { $kind }: use one of { $kinds }
kind-missing = the type of your custom task is missing: use --type with one of { $kinds }
known-task-has-kind = { $task } already has the type { $kind }: leave out --type, or use `custom` for your own data
column-flag-missing = the name of a column is missing: use { $flag }
column-flag-of-other-kind = { $flag } is for { $kinds }, not for { $kind }
task-record-damaged = the checkpoint's record of its task is damaged: { $reason }
