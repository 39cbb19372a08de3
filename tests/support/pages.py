"""The app's pages without a browser: open one as a link would, and read what it shows."""

from functools import cache
from pathlib import Path

from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

config.set_option("server.address", "localhost")  # as `bertlab app` does; else only some paths may be opened
# Streamlit reads the metadata of every installed package for each AppTest, which takes longer than most pages do.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
APP = Path(__file__).parents[2] / "app" / "bertlab_app"
SCREENS = sorted(path.stem for path in (APP / "pages").glob("*.py"))
PAGES = [screen.replace("_", "-") for screen in SCREENS]
SHORT = {
    "judged": "Green tea.",
    "named": "Green tea.",
    "a": "Green tea.",
    "b": "A bowl.",
    "text": "Green tea.",
    "first": "Green tea.",
    "second": "A bowl.",
}
HOSTILE = (
    '<script>alert(1)</script> </script> **bold** $x^2$ :material/home: [a](b) %{y} <img src=x onerror="alert(1)">'
)


def open_page(screen: str, state: dict | None = None, **parameters: str) -> AppTest:
    """A page as a link with these parameters opens it, with short texts, in a session whose state is `state`."""
    return open_example_page(screen, state, **{**SHORT, **parameters})


def open_example_page(screen: str, state: dict | None = None, **parameters: str) -> AppTest:
    """A page as a link with these parameters opens it, with the page's own example texts. It must raise nothing."""
    app = AppTest.from_file(str(APP.parent / "streamlit_app.py"), default_timeout=300)
    for name, value in parameters.items():
        app.query_params[name] = value
    for name, value in (state or {}).items():
        app.session_state[name] = value
    # `switch_page` would have to run the start page first, to learn which addresses the pages have
    app._page_hash = "" if screen == "start" else calc_hash(screen.replace("_", "-"))
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def bodies(app: AppTest) -> list[str]:
    """The HTML blocks of a page, without the style sheet."""
    return [block.proto.body for block in app.get("html") if not block.proto.body.startswith("<style")]


def errors(app: AppTest) -> list[str]:
    """The error lines that a page shows."""
    return [body for body in bodies(app) if 'role="alert"' in body]
