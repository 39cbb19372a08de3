bertviz-text-too-long = the text has { $tokens } tokens, but bertviz shows at most { $limit }: use the attention view
bertviz-incomplete = the installed bertviz lacks its head_view.js: install bertviz 1.4 or newer
view-shape-mismatch = there are { $tokens } tokens, but an array has the shape { $shape }: pass the result unchanged, as the session returned it
view-payload-invalid = this is not the payload of a view
compare-layers-differ = the two sides differ in the number of layers or in hidden size, so their layers cannot be paired: use layer_similarity instead
