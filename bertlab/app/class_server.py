"""The app with a class: the pages of `streamlit_app.py`, and an address at which browsers ask where the class is.

`bertlab app --class` starts this instead of `streamlit_app.py`. A question to this address costs a fraction of a
millisecond, where running a part of a page costs several; with thirty students who ask several times a second, that is
the difference between an idle server and a busy one.
"""

import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit.starlette import App

NEWS_ADDRESS = "/class/news"
FRESH_SECONDS = 0.1  # for this long, all browsers get the same answer without another look into the file

_latest = (0.0, "")


async def answer_news(request: Request) -> PlainTextResponse:
    """Answer where the class is and how many have guessed, as `ClassStore.describe` does. Nothing of it is secret.

    Whoever asks is present.
    """
    # The first page has imported these, for which a new server takes seconds; and it has made `bertlab` importable.
    from bertlab.app.classroom import current, roles

    global _latest
    token = request.cookies.get(roles.PARTICIPANT_COOKIE, "")
    store = current.open_store()
    if roles.is_token(token) and roles.TEACHER_COOKIE not in request.cookies:
        store.sign(token)
    if time.monotonic() - _latest[0] > FRESH_SECONDS:
        _latest = (time.monotonic(), store.describe())
    return PlainTextResponse(_latest[1], headers={"Cache-Control": "no-store"})


app = App(Path(__file__).with_name("streamlit_app.py"), routes=[Route(NEWS_ADDRESS, answer_news)])
