sentences = Sentences
sentences-title = Sentences as vectors
sentences-lead = Paste short texts, such as headlines, one per line. Each line becomes a vector, and similar lines get similar vectors. The page shows groups, neighbours and duplicates among the lines.
sentences-about = BERT makes a vector for every token. The mean of these vectors stands for the whole sentence, and fine-tuning on pairs of sentences makes the cosine of two such vectors a measure of how similar they are in meaning. The map shows the vectors in two dimensions; clusters are regions where the vectors of many lines lie close together.
sentences-try = Write one of the lines again in other words: is the new line a neighbour of the original line?
start-sentences = See groups, neighbours and duplicates of many lines.

sentences-lines = Lines, one text each
sentences-upload = Or upload a file
sentences-upload-help = Text, CSV, TSV, JSON Lines or Parquet; up to { FORMAT($limit, spec: ",") } lines. Your data stays on this machine.
sentences-too-many = { FORMAT($count, spec: ",") } lines are too many at once: only the first { FORMAT($limit, spec: ",") } are used. For more lines, use `bertlab cluster`.
sentences-too-few = { $count ->
        [0] Paste at least two lines, or upload a file.
        [one] There is only one line, so there is nothing to compare: add another line.
       *[other] There are only { $count } lines.
    }
sentences-all-equal = All { FORMAT($count, spec: ",") } lines are equal, so they all have the same vector: the map shows a single point and no clusters.
sentences-progress = Computing vectors: { $done } of { $of }
sentences-untrained-page = { $checkpoint } was not trained to make sentence vectors, so unrelated lines have large cosines too. Judge a cosine only by comparing it with other cosines, and set “Minimum cosine” to a high value.
sentences-cut = { $count ->
        [one] 1 line is longer than the checkpoint can read, so the end of the line has no effect.
       *[other] { FORMAT($count, spec: ",") } lines are longer than the checkpoint can read, so the ends of these lines have no effect.
    }
sentences-unreadable-page = { $count ->
        [one] 1 line is in a language or script that { $checkpoint } cannot read, so its vector is unreliable. It is in no cluster, and only equal lines count as its duplicates.
       *[other] { FORMAT($count, spec: ",") } lines are in a language or script that { $checkpoint } cannot read, so their vectors are unreliable. They are in no cluster, and only equal lines count as their duplicates.
    }
sentences-map-method = Map method
sentences-map-tsne = t-SNE
sentences-map-pca = PCA
sentences-map-umap = UMAP
sentences-map-progress = Finding clusters and computing the map …
sentences-map-help = { $clusters ->
        [0] No clusters.
        [one] 1 cluster; { FORMAT($outside, spec: ",") } of { FORMAT($total, spec: ",") } lines belong to no cluster.
       *[other] { FORMAT($clusters, spec: ",") } clusters; { FORMAT($outside, spec: ",") } of { FORMAT($total, spec: ",") } lines belong to no cluster.
    } Circle some points, or click one, to list their texts below.
sentences-min-size = Smallest cluster
sentences-min-size-help = The smallest number of lines that form a cluster. With “auto” it depends on the number of lines.
sentences-min-size-auto = auto
sentences-view = View
sentences-view-selection = Lines
sentences-view-neighbours = Neighbours
sentences-view-similar = Duplicates
sentences-view-matrix = Matrix
sentences-group = Lines to list
sentences-group-lasso = selected on the map
sentences-group-all = all lines
sentences-group-none = in no cluster ({ $count })
sentences-group-empty = Nothing is selected: circle some points on the map, or choose a cluster here.
sentences-line = Line
sentences-threshold = Minimum cosine
sentences-threshold-help = Lines with at least this cosine count as duplicates. Lines that are connected through other duplicates are in one group.
sentences-pairs = { $pairs ->
        [0] No two lines have a cosine of at least this value.
        [one] 1 pair in 1 group
       *[other] { FORMAT($pairs, spec: ",") } pairs in { $groups ->
            [one] 1 group
           *[other] { FORMAT($groups, spec: ",") } groups
        }
    }
sentences-matrix-help = Rows and columns are the lines, in the order of the text. Point at a cell to see both lines.
sentences-matrix-overview = The matrix can show at most { $limit } lines, so each cell shows the mean cosine between the lines of two clusters.
sentences-matrix-none = The matrix can show at most { $limit } lines. This text has more, and no clusters were found to show instead.
sentences-column-number = number
sentences-column-line = line
sentences-column-words = cluster
sentences-column-group = group
sentences-column-cosine = cosine
