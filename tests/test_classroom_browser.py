"""A class in a real Chromium: a teacher and two students, in two languages. Skipped where there is no Chromium."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from bertlab.cli.app import CLASSROOM_KEY

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
expect.set_options(timeout=60_000)  # pages are slow on a busy machine
pytestmark = [pytest.mark.browser, pytest.mark.release]

KEY = "a-key-that-nobody-guesses"
LESSON = """
title = "Tea"
minutes = 45
[[steps]]
title = "Leaves"
page = "lessons"
say = "Look."
notes = "SECRET-NOTES"
[[steps]]
title = "Water"
page = "cost"
say = "Think."
question = { ask = "How hot?", kind = "number", answer = 80, unit = "°C", reveal = "SECRET-REVEAL" }
"""


RECORD_FIRST_TEXT = """() => new MutationObserver(() => {
  window.firstText ||= document.querySelector("[data-reading] .news")?.innerText;
}).observe(document.body, { subtree: true, childList: true, attributes: true })"""


class Server:
    """The app with a class, which can be killed and started again on the same port."""

    def __init__(self, directory):
        (directory / "tea.toml").write_text(LESSON)
        self.directory = directory
        with socket.socket() as listener:
            listener.bind(("localhost", 0))
            self.port = listener.getsockname()[1]
        self.address = f"http://localhost:{self.port}/"

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bertlab", "app", "--class", "tea.toml", "--port", str(self.port)],
            cwd=self.directory, env=os.environ | {CLASSROOM_KEY: KEY},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{self.address}_stcore/health", timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, "the server stopped"
                time.sleep(0.25)

    def kill(self):
        self.process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.wait(30)


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


def test_a_class_answers_and_its_guesses_survive_a_killed_server(server, chromium):
    """One story, since opening the browsers takes most of the time."""
    faults = []

    def open_tab(query="", **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(60_000)
        tab = context.new_page()
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(server.address + query, wait_until="commit")
        return tab

    teacher = open_tab(f"?key={KEY}")
    first = open_tab(color_scheme="dark")
    second = open_tab("?lang=ko", viewport={"width": 390, "height": 844})
    teacher.get_by_text("SECRET-NOTES").wait_for()
    assert KEY not in teacher.url
    for student in (first, second):
        student.get_by_text("Look.").wait_for()
        student.evaluate(RECORD_FIRST_TEXT)
    teacher.get_by_role("button", name="Next").click()
    for student in (first, second):
        student.wait_for_url("**/cost**")
        expect(student.locator("[data-reading]")).to_have_count(0)
        student.get_by_text("Think.").wait_for()
        assert "Think." in student.evaluate("window.firstText"), "the text comes before the panel and the page"
        expect(student.get_by_text("SECRET-NOTES")).to_have_count(0)
    assert second.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no sideways scrolling on a phone"
    teacher.get_by_role("button", name="Open the question").click()
    first.get_by_label("Your guess").fill("70")
    first.get_by_role("button", name="Send my guess").click()
    first.get_by_text("Your guess: 70").wait_for()
    second.get_by_label("내 예측").fill("90")
    second.get_by_role("button", name="예측 보내기").click()
    teacher.get_by_text("All 2 students have answered").wait_for()

    server.kill()
    server.start()
    # an address that claims to be the teacher's; on the teacher's own, the cookie is enough
    second.goto(f"{server.address}cost?lang=ko&present=1&key={KEY}x&class.is_teacher=1", wait_until="commit")
    teacher.goto(f"{server.address}?present=1", wait_until="commit")
    teacher.get_by_text("All 2 students have answered").wait_for()
    for tab in (teacher, first, second):
        tab.get_by_role("heading", level=1).wait_for()
        expect(tab.get_by_text("SECRET-REVEAL")).to_have_count(0)
    expect(second.locator(".st-key-class-next, .st-key-class-phase, .st-key-class-presenting")).to_have_count(0)
    expect(teacher.locator('[data-testid="stSidebar"], .st-key-class-notes')).to_be_hidden()
    assert KEY not in first.content() + second.content() + first.url
    teacher.keyboard.press("ArrowDown")
    first.get_by_text("SECRET-REVEAL").wait_for()  # a page that was open all the time has come back by itself
    expect(second.locator(".guess-row")).to_have_text(["70°C1", "90°C ← 나1"])
    expect(teacher.locator(".guess-row")).to_have_text(["70°C1", "90°C1"])
    teacher.keyboard.press("ArrowLeft")
    second.get_by_text("Look.").wait_for()

    teacher.goto(server.address, wait_until="commit")
    teacher.locator(".st-key-class-panel summary", has_text="Class").click()
    rows = download(teacher, "Guesses (CSV)").splitlines()
    assert sorted(row.split(",")[4] for row in rows[1:]) == ["70", "90"]
    assert "<h1>Tea</h1>" in download(teacher, "Handout (HTML)")
    teacher.get_by_role("button", name="Next").click()
    second.get_by_text("SECRET-REVEAL").wait_for()
    teacher.get_by_text("I want to delete").click()
    teacher.get_by_role("button", name="Delete all guesses").click()
    second.get_by_text("Look.").wait_for()
    teacher.get_by_text("Look.").wait_for()
    teacher.wait_for_selector('[data-test-script-state="notRunning"]')  # until then the button names the old file
    assert len(download(teacher, "Guesses (CSV)").splitlines()) == 1
    assert not faults


def download(tab, name: str) -> str:
    """Click a button that saves a file; return the file as text. The app makes the file anew with each run of the page:
    a click in the moment before the button has the new address is canceled or lost, and a person clicks again."""
    for attempt in range(3):
        try:
            with tab.expect_download(timeout=20_000) as waiting:
                tab.get_by_role("button", name=name).click()
            return Path(waiting.value.path()).read_text(encoding="utf-8")
        except playwright.Error:
            if attempt == 2:
                raise
            tab.wait_for_timeout(500)
