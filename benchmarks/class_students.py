"""Simulated students of a school class. Over Streamlit's websocket protocol, they follow the teacher and guess."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.app_pages import TIMEOUT_SECONDS

# The address at which bertlab_app/launch/class_server.py answers requests for news. The first line of a reply is the
# version of the state of the school class. If the step of the lesson has changed, the text of the new step follows.
NEWS_ADDRESS = "/class/news"
# The times of bertlab_app/static/news.js: the range of seconds between two requests for news, and the seconds between
# showing the text of a new step and opening its page.
NEWS_SECONDS, READING_SECONDS = (0.28, 0.42), 0.4


class Student:
    """A session that follows the teacher through a lesson, as a browser would."""

    def __init__(self, index: int):
        self.token = f"{index:032x}"
        self.errors: list[str] = []
        self._connection: ClientConnection | None = None
        self._tasks: list[asyncio.Task] = []
        # what Streamlit sent last: the hash and the query string of the page
        self._page_hash = self._query_string = ""
        # what Streamlit sent last: the ids of the panel, of its number field, of its button, and of the news component
        self._fragment_id = self._field_id = self._button_id = self._news_id = ""
        self._version = ""  # the version of the class's state that the panel shows
        # the text of the panel; whether the page is drawn; whether the page is still that of the previous step
        self._panel_text, self._is_drawn, self._is_page_old = "", False, False
        self._update = asyncio.Condition()  # is notified whenever one of these values may have changed

    async def open(self, address: str) -> None:
        """Connect to the app and open the students' address."""
        self._address = address
        self._connection = await connect(
            f"ws://{address}/_stcore/stream", subprotocols=["streamlit"], max_size=None,
            additional_headers={"Cookie": f"bertlab-participant={self.token}"},
        )  # fmt: skip
        self._panel_text, self._is_drawn, self._is_page_old = "", False, False
        message = BackMsg()
        message.rerun_script.query_string = ""
        await self._connection.send(message.SerializeToString())
        self._tasks = [asyncio.create_task(self._read_messages()), asyncio.create_task(self._request_news())]

    async def close(self) -> None:
        """End the session, and cancel its tasks."""
        for task in self._tasks:
            task.cancel()
        with suppress(WebSocketException, OSError):
            await self._connection.close()

    async def wait_for(self, text: str) -> float:
        """Wait until the panel, or the preview of a new step, shows a text; return the time by `time.perf_counter`."""
        return await self._wait(lambda: text in self._panel_text)

    async def wait_until_drawn(self) -> float:
        """Wait until the whole page of the step is drawn; return the time by `time.perf_counter`."""
        return await self._wait(lambda: self._is_drawn and not self._is_page_old)

    async def guess(self, value: float) -> None:
        """Type a number into the form, send it, and wait until the panel confirms it."""
        await self._wait(lambda: self._field_id and self._button_id)
        message = self._make_rerun()
        field, button = (message.rerun_script.widget_states.widgets.add() for _ in range(2))
        field.id, field.double_value = self._field_id, value
        button.id, button.trigger_value = self._button_id, True
        await self._connection.send(message.SerializeToString())
        await self.wait_for(f"Your guess: {value:g}")

    async def _wait(self, condition: Callable[[], object]) -> float:
        async with asyncio.timeout(TIMEOUT_SECONDS), self._update:
            await self._update.wait_for(condition)
        return time.perf_counter()

    def _make_rerun(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_script_hash, message.rerun_script.query_string = self._page_hash, self._query_string
        message.rerun_script.fragment_id = self._fragment_id
        return message

    async def _request_news(self) -> None:
        host, port = self._address.split(":")
        headers = f"Host: {host}\r\nCookie: bertlab-participant={self.token}\r\n\r\n"
        reported_version = ""  # the version in the latest event that was sent to the app
        connection = None  # (reader, writer) while a connection is open
        try:
            while True:
                await asyncio.sleep(random.uniform(*NEWS_SECONDS))
                if not self._news_id:
                    continue
                try:
                    reader, writer = connection = connection or await asyncio.open_connection(host, int(port))
                    writer.write(f"GET {NEWS_ADDRESS}?seen={self._version}&lang=en HTTP/1.1\r\n{headers}".encode())
                    header = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                    body = await reader.readexactly(int(header.split("content-length:")[1].split()[0]))
                except (OSError, asyncio.IncompleteReadError):  # the server closes idle connections
                    connection = None
                    continue
                line, _, text = body.decode().partition("\n")
                version = line.split(" ")[0]
                if version not in (self._version, reported_version):
                    reported_version = version
                    if text:
                        await self._show_text(text)
                    message = self._make_rerun()
                    widget = message.rerun_script.widget_states.widgets.add()
                    widget.id = f"$$STREAMLIT_INTERNAL_KEY_{self._news_id}__events"
                    widget.json_trigger_value = json.dumps([{"event": "news", "value": version}])
                    await self._connection.send(message.SerializeToString())
        except WebSocketException as error:
            self.errors.append(type(error).__name__)
        finally:
            if connection:
                connection[1].close()

    async def _show_text(self, text: str) -> None:
        self._panel_text, self._is_page_old = text, True
        async with self._update:
            self._update.notify_all()
        await asyncio.sleep(READING_SECONDS)

    async def _read_messages(self) -> None:
        try:
            async for data in self._connection:
                self._store_changes(ForwardMsg.FromString(data))
                async with self._update:
                    self._update.notify_all()
        except WebSocketException as error:
            self.errors.append(type(error).__name__)

    def _store_changes(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._page_hash = message.new_session.page_script_hash
        elif kind == "navigation":  # the whole page runs, not only the panel
            self._page_hash = message.navigation.page_script_hash
            self._panel_text = self._field_id = self._button_id = self._news_id = ""
            self._is_drawn = self._is_page_old = False
        elif kind == "page_info_changed":
            self._query_string = message.page_info_changed.query_string
        elif kind == "script_finished":
            self._is_drawn = message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                self.errors.append("compile error")
        elif kind == "delta":
            element = message.delta.new_element
            if element.HasField("html"):
                self._panel_text += element.html.body
                if 'role="alert"' in element.html.body:
                    self.errors.append(element.html.body)
            if element.HasField("bidi_component") and element.bidi_component.component_name == "bertlab_news":
                data = json.loads(element.bidi_component.json)
                self._news_id, self._version = element.bidi_component.id, data["seen"]
                self._fragment_id = message.delta.fragment_id or self._fragment_id
            if element.HasField("number_input"):
                self._field_id = element.number_input.id
            if element.button.is_form_submitter:
                self._button_id = element.button.id
            if element.HasField("exception"):
                self.errors.append(element.exception.type)
