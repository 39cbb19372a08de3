"""BERT, opened up: train it, fine-tune it, and look inside it while it thinks."""

from importlib import import_module

__version__ = "0.1.0"
__all__ = ["Session", "default_checkpoint", "load", "shipped"]


def __getattr__(name: str):
    # torch takes seconds to import; a program that only asks for the version, or for help, shall not wait for it
    if name in __all__:
        return getattr(import_module("bertlab.explore.session"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
