"""Write bytes as printable ASCII text that an HTML page can contain, a quarter longer than the bytes.

13 bits become two digits in base 91 (91 * 91 >= 2 ** 13), 8 % less text than base64. No digit is "<", so no script
element ends early. `static/live/weights.js` reads the text.
"""

import numpy as np

_BASE = 91  # how many different digits there are
_FIRST_CHARACTER = 35  # the code of "#", which stands for the digit 0
BLOCK = 13  # how many bytes become 16 characters


def encode_printable(data: bytes) -> str:
    """Encode bytes, with zero bytes appended until their number is divisible by `BLOCK`.

    >>> encode_printable(bytes(13)) == "#" * 16
    True
    >>> encode_printable(b"tea")
    'Kw_S############'
    """
    padded = data + bytes(-len(data) % BLOCK)
    blocks = np.frombuffer(padded, np.uint8).reshape(-1, BLOCK).astype(np.uint32)
    digits = np.empty((len(blocks), 16), np.uint8)
    for pair in range(8):
        byte, bit = divmod(13 * pair, 8)  # where the 13 bits of this pair of digits begin
        third_byte = blocks[:, byte + 2] if byte + 2 < BLOCK else 0
        three_bytes = (blocks[:, byte] << 16) | (blocks[:, byte + 1] << 8) | third_byte
        value = (three_bytes >> (24 - bit - 13)) & 0x1FFF
        digits[:, 2 * pair], digits[:, 2 * pair + 1] = value // _BASE, value % _BASE
    characters = digits + _FIRST_CHARACTER
    characters[characters == ord("<")] = ord("!")  # the text must not contain "<"; no other digit is written as "!"
    return characters.tobytes().decode("ascii")
