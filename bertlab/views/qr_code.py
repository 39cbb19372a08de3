"""QR codes of links, as SVG."""

import segno
from segno.encoder import DataOverflowError

from bertlab.config.errors import TextError

QUIET_ZONE = 4  # width of the empty border in modules (squares); the standard (ISO/IEC 18004) requires it
MODULE = 8  # side of a module in pixels


def qr_code(link: str) -> str:
    """Draw a link as a QR code, dark on white for every camera -> data URI of an SVG image.

    Raises TextError if the link is too long (more than about 2,900 characters).

    >>> qr_code("http://192.168.0.7:8501/attention").startswith("data:image/svg+xml")
    True
    """
    try:
        code = segno.make_qr(link, error="l", boost_error=False)
    except DataOverflowError as error:
        raise TextError("link-too-long-for-qr-code") from error
    return code.svg_data_uri(scale=MODULE, border=QUIET_ZONE, dark="#000", light="#fff")
