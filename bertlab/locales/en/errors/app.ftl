labelled-rows-not-found = there is no file or directory { $path }: check the path
run-not-found = there is no training run in { $path }: type the directory that `bertlab pretrain` wrote with --out
