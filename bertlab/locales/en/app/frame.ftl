checkpoint = Checkpoint
checkpoint-help = Choose a checkpoint, or type a directory on this machine or a Hugging Face id and press Enter. With *auto*, each page uses a checkpoint that suits the page.
checkpoint-not-used-here = This page has its own choice of checkpoint. The choice in the sidebar applies to the other pages.
checkpoint-still-in-use = The new checkpoint could not be opened, so the pages still use the previous one:
checkpoint-size = { $layers ->
        [one] 1 layer
       *[other] { $layers } layers
    } × { $heads ->
        [one] 1 head
       *[other] { $heads } heads
    } · hidden size { $hidden }
checkpoint-none-installed = No checkpoints are installed. Type a directory or a Hugging Face id in the sidebar.
checkpoint-missing-for-page = No installed checkpoint fits this page. The command below trains one. Then enter its output directory under Checkpoint in the sidebar.
language = Language
undo = Undo
undo-help = Undoes the last change on this page. You can undo changes to a text, a choice, a masked word or the checkpoint.
undo-nothing = There is nothing to undo on this page.
text-too-long-for-link = This text is too long for a link: a copied link will not contain the text.
no-column = none
download-html = Save this view as one HTML file
download-live = Save the model as one HTML file
download-live-help = The file runs this checkpoint in any browser, without Python and without a network: attention, masked words, next sentences, heads and the logit lens. The file has about 1.1 bytes per parameter.
sentence-a = Sentence A
sentence-b = Sentence B
sentence-b-optional = optional
section-learn = Learn
section-inspect = Look inside
section-predict = Predict
section-change = Change
section-train = Train and evaluate
bars-scale = Scale of the bars
bars-full = 0–100%
bars-zoom = Zoom
open-in-attention = Open in Attention
copy-link = Copy link to this page
copy-link-copied = Link copied
qr-code = QR code
docs = Documentation
qr-code-label = QR code of the link to this page
qr-code-lead = Point a phone's camera at the code to open this page with the same texts and settings.
qr-code-only-here = This address works only on this machine. To open the page on other devices, start the app with the command below and use the network address of this machine.
page-loading = Computing …
checkpoint-purpose-auto = suits each page
checkpoint-purpose-strongest = predicts words
checkpoint-purpose-scratch = small, trained from scratch
checkpoint-purpose-korean = Korean
checkpoint-purpose-korean_morphemes = Korean, tokens are morphemes
checkpoint-purpose-squad = finds answers
checkpoint-purpose-sst2 = film reviews
checkpoint-purpose-stsb = similarity
checkpoint-purpose-wikiann_en = finds names
checkpoint-purpose-nsmc = Korean reviews
checkpoint-purpose-klue_ner = finds Korean names
checkpoint-purpose-klue_sts = Korean similarity
checkpoint-purpose-klue_nli = Korean entailment (NLI)
checkpoint-purpose-korquad = finds Korean answers
checkpoint-purpose-comve = chooses endings
page-about = What am I looking at?
page-try = Try it:
page-lesson = Compute it yourself in a notebook: { $title }
upload-button = Choose a file
upload-limits = Up to 200 MB · { $types }
