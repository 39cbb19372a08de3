"""The app in classroom mode: the pages of `bertlab_app.main`, and an address that tells browsers the current step.

If the requesting browser does not show this step yet, the response also contains the text of the step. So every student
can read this text at once, while the server is still drawing the students' pages one after the other.
"""

import os
import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit.starlette import App

NEWS_ADDRESS = "/class/news"  # the path that students' and teachers' browsers request; also in `static/news.js`
CACHE_SECONDS = 0.1  # how long all browsers get the same news, before the file of the lesson's state is read again

_latest = (0.0, "")  # (time at which the news was last read, in seconds of `time.monotonic`; the news)


async def answer_news(request: Request) -> PlainTextResponse:
    """Return the news: the current step and the number of guesses, as `ClassStore.describe` writes them.

    The news is not secret, so the request need not contain the teacher's key.

    A student's request also records that the student is present. If a request has the parameter `lang` (a language
    code), and the parameter `seen` does not contain news of the same step, the text of the step follows below the news.
    """
    # imported here, because importing these modules takes seconds
    from bertlab_app.classroom import current, roles

    global _latest
    token = request.cookies.get(roles.PARTICIPANT_COOKIE, "")
    store = current.open_store()
    if roles.is_token(token) and roles.TEACHER_COOKIE not in request.cookies:
        store.record_presence(token)
    if time.monotonic() - _latest[0] > CACHE_SECONDS:
        _latest = (time.monotonic(), store.describe())
    news, code = _latest[1], request.query_params.get("lang", "")
    if code and _find_step(request.query_params.get("seen", "")) != _find_step(news):
        news += f"\n{_make_preview(news, code)}"
    return PlainTextResponse(news, headers={"Cache-Control": "no-store"})


def _find_step(news: str) -> str:
    """Return the part of the news that identifies the step: the id of the class and the index of the step."""
    return news.split(" ")[0].rpartition(".")[0]


def _make_preview(news: str, code: str) -> str:
    """Make the text of the step that the news identifies."""
    from bertlab.classroom.step_text import make_preview
    from bertlab.config.errors import BertlabError
    from bertlab.config.languages import DEFAULT, languages
    from bertlab_app.classroom import current

    _, step, phase = news.split(" ")[0].split(".")
    code = code if code in languages() else DEFAULT
    try:
        lesson = current.load_lesson(os.environ[current.CLASSROOM_LESSON], code)
    except BertlabError:
        return ""
    return make_preview(lesson, min(int(step), len(lesson.steps) - 1), phase, code)


app = App(Path(__file__).with_name("streamlit_app.py"), routes=[Route(NEWS_ADDRESS, answer_news)])
