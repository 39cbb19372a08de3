"""F3, how fast it is here: ours and transformers in turns. The one room of the library that imports transformers."""
