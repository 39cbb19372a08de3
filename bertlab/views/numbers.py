"""Numbers as text, the same in every view."""


def percent(share: float) -> str:
    """Format a probability or another share; a small positive value is never shown as 0.

    >>> percent(0.0712), percent(0.0001), percent(0.0)
    ('7.1%', '< 0.1%', '0.0%')
    """
    return "< 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


class SignedNumber(float):
    """A number whose minus sign is as wide as a plus sign, U+2212.

    >>> f"{SignedNumber(-0.25):.1f}"
    '−0.2'
    """

    def __format__(self, spec: str) -> str:
        return super().__format__(spec).replace("-", "−")


def signed(value: float, decimals: int) -> str:
    """Format a change with its sign.

    >>> signed(-0.25, 1), signed(3, 2)
    ('−0.2', '+3.00')
    """
    return f"{SignedNumber(value):+.{decimals}f}"
