bertviz-text-too-long = the text has { $tokens } tokens, bertviz shows at most { $limit }: use the attention view
bertviz-incomplete = the installed bertviz lacks its head_view.js: install bertviz 1.4 or newer
