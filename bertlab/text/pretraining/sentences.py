"""Split texts into sentences, from which sentence pairs are made."""

import re

# A sentence ends with . ! ? or their full-width forms, then optional closing quotes and brackets, then white space.
SENTENCE_END = re.compile(r"""(?<=[.!?。！？])["'”’)\]]*\s+""")


def split_sentences(text: str) -> list[str]:
    """Split a text into lines, and the lines into sentences.

    >>> split_sentences('It rains. "Come in!" she said.\\nThe door closed.')
    ['It rains.', '"Come in!"', 'she said.', 'The door closed.']
    """
    sentences = []
    for line in text.splitlines():
        start = 0
        for end in SENTENCE_END.finditer(line):
            sentences.append(line[start : end.end()].strip())
            start = end.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]
