text-empty = the text is empty: type some words
text-too-long = the text has { $tokens } tokens, the model reads at most { $limit }: shorten it
invalid-row = { $source } row { FORMAT($row, spec: ",") }: { $reason }
invalid-row-with-id = { $source } row { FORMAT($row, spec: ",") } (id { $id }): { $reason }
invalid-row-stops = { $error } (--invalid skip leaves out what cannot be used)
row-without-text = has no text
