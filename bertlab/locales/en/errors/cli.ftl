stdin-read-twice = only one text can be read from standard input: give the others on the command line
