bertviz-text-too-long = the text has { $tokens } tokens, but this view of bertviz shows at most { $limit }: use the view Heads
bertviz-incomplete = the installed bertviz lacks its { $name }: install bertviz 1.4 or newer
view-shape-mismatch = there are { $tokens } tokens, but an array has the shape { $shape }: pass the result as the session returned it
view-payload-invalid = this is not the data of a bertlab view: pass the data as bertlab produced it
compare-layers-differ = the two models differ in the number of layers or in hidden size, so their layers cannot be paired: use layer_similarity instead
link-too-long-for-qr-code = the link to this page is too long for a QR code: shorten the texts, or copy the link
live-tokenizer-unsupported = the tokenizer of { $name } has steps that the page cannot repeat in JavaScript: export a checkpoint with BERT's own normalisation and WordPiece
live-file-exists = { $path } exists already: choose another name, or add --replace
