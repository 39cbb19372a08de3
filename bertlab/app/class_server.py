"""The app with a class: the pages of `streamlit_app.py`, and an address at which browsers ask where the class is.

The answer also has the text of a new step. So every student reads it at once, while the pages of all students are still
being drawn, one after the other.

`bertlab app --class` starts this instead of `streamlit_app.py`. A question to this address costs a fraction of a
millisecond, where running a part of a page costs several; with thirty students who ask several times a second, that is
the difference between an idle server and a busy one.
"""

import os
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

    Whoever asks is present. A browser that names the language of its reader receives the text of the step below the
    news, unless it names news of the same step as what it has seen.
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
    text, code = _latest[1], request.query_params.get("lang", "")
    if code and _find_step(request.query_params.get("seen", "")) != _find_step(text):
        text += f"\n{_make_preview(text, code)}"
    return PlainTextResponse(text, headers={"Cache-Control": "no-store"})


def _find_step(news: str) -> str:
    """Return the part of the news that differs between any two steps: the class and the step."""
    return news.split(" ")[0].rpartition(".")[0]


def _make_preview(news: str, code: str) -> str:
    """Make the text of the step in the news; "" if the lesson cannot be read, which the page then says."""
    from bertlab.app.classroom import current
    from bertlab.classroom.step_text import make_preview
    from bertlab.config.errors import BertlabError
    from bertlab.config.languages import DEFAULT, languages

    _, step, phase = news.split(" ")[0].split(".")
    code = code if code in languages() else DEFAULT
    try:
        lesson = current.read(os.environ[current.CLASS], code)
    except BertlabError:
        return ""
    return make_preview(lesson, min(int(step), len(lesson.steps) - 1), phase, code)


app = App(Path(__file__).with_name("streamlit_app.py"), routes=[Route(NEWS_ADDRESS, answer_news)])
