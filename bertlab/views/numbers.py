"""Numbers as they are read, the same in every view. Knows no picture."""


def percent(share: float) -> str:
    """A probability or another share; what would round to nothing is not said to be nothing.

    >>> percent(0.0712), percent(0.0001), percent(0.0)
    ('7.1%', '< 0.1%', '0.0%')
    """
    return "< 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


class Told(float):
    """A number that is formatted with a minus as wide as a plus.

    >>> f"{Told(-0.25):.1f}"
    '−0.2'
    """

    def __format__(self, spec: str) -> str:
        return super().__format__(spec).replace("-", "−")


def signed(value: float, digits: int) -> str:
    """A change, with a minus as wide as its plus.

    >>> signed(-0.25, 1), signed(3, 2)
    ('−0.2', '+3.00')
    """
    return f"{Told(value):+.{digits}f}"
