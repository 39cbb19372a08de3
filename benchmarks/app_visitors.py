"""Simulated visitors of the app: sessions over Streamlit's websocket protocol, without a browser."""

import asyncio
import random
import time
from typing import Protocol
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.app_pages import PAGES, TIMEOUT_SECONDS, VISITOR_CHANGES, WORDS, TextChange
from bertlab.config.errors import BertlabError

SECONDS_BEFORE_VISITS = 5  # the pause between the warm-up visit and the timed visits


class VisitorOptions(Protocol):
    """The number of simulated visitors, and the text changes of each visitor."""

    visitors: int
    """Number of simultaneous visitors."""
    visitor_changes: int
    """Number of text changes by each visitor."""
    visitor_seconds: float
    """Seconds over which these changes are spread, at random intervals."""
    checkpoint: str
    """The checkpoint to open; "" for the default of the page."""


class Visitor:
    """A simulated session that opens a page, changes its text several times, and records response times and errors.

    Args:
        change: the page and the text to change.
        index: the index of the visitor, which determines the words of the texts.
        options: how often the visitor changes the text, over which time, and with which checkpoint.

    Attributes:
        opening_ms: the time to open the page, in milliseconds; empty if that failed.
        response_ms: the time from each text change to the end of the script run, in milliseconds.
        errors: errors of the connection and of the script, and errors shown on the page.
    """

    def __init__(self, change: TextChange, index: int, options: VisitorOptions):
        self.change = change
        self.random = random.Random(index)
        self.index, self.options = index, options
        self.opening_ms: list[float] = []
        self.response_ms: list[float] = []
        self.errors: list[str] = []
        # The hash and the query string of the page that Streamlit has opened. Every later message contains both.
        self.page_hash = self.query_string = ""

    async def visit(self, address: str) -> None:
        """Open the page and make all changes, if there are any. A lost connection or a timeout ends the visit."""
        url = f"ws://{address}/_stcore/stream"
        try:
            async with connect(url, subprotocols=["streamlit"], max_size=None) as connection:
                await (self._change_texts if self.change.text else self._open)(connection)
        except (WebSocketException, OSError, TimeoutError) as error:
            self.errors.append(type(error).__name__)

    async def _open(self, connection: ClientConnection) -> str:
        """Open the page and return the id of its text field."""
        message = BackMsg()
        message.rerun_script.page_name = self.change.page
        checkpoint = {"checkpoint": self.options.checkpoint} if self.options.checkpoint else {}
        message.rerun_script.query_string = self.query_string = urlencode(self.change.parameters | checkpoint)
        return await self._send(connection, message, self.opening_ms)

    async def _change_texts(self, connection: ClientConnection) -> None:
        """Open the page, and change its text several times, after pauses of random length."""
        field_id = await self._open(connection)
        count = self.options.visitor_changes
        for change_index in range(count):
            await asyncio.sleep(self.random.uniform(0, 2) * self.options.visitor_seconds / (count + 1))
            # The texts of the visitors differ, so that no result comes from a cache.
            word = f"{WORDS[self.index % len(WORDS)]} and the {WORDS[-1 - change_index]}"
            message = BackMsg()
            message.rerun_script.page_script_hash, message.rerun_script.query_string = self.page_hash, self.query_string
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id, widget.string_value = field_id, self.change.text.format(word=word)
            await self._send(connection, message, self.response_ms)

    async def _send(self, connection: ClientConnection, message: BackMsg, times: list[float]) -> str:
        """Send a message and wait until the script has run.

        Args:
            connection: the connection to the app.
            message: the message.
            times: a list to which the response time in milliseconds is appended.

        Returns:
            The id of the text field; "" if the script did not draw it.
        """
        field_id = ""
        start = time.perf_counter()
        await connection.send(message.SerializeToString())
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                reply = ForwardMsg.FromString(await connection.recv())
                kind = reply.WhichOneof("type")
                if kind == "new_session":
                    self.page_hash = reply.new_session.page_script_hash
                elif kind == "navigation":
                    self.page_hash = reply.navigation.page_script_hash
                elif kind == "page_info_changed":
                    self.query_string = reply.page_info_changed.query_string
                elif kind == "delta":
                    element = reply.delta.new_element
                    if element.text_input.id.endswith(f"-{self.change.field_key}"):
                        field_id = element.text_input.id
                    if element.HasField("exception"):
                        self.errors.append(element.exception.type)
                    if 'role="alert"' in element.html.body:
                        self.errors.append(element.html.body)
                elif kind == "script_finished":
                    if reply.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                        break
                    # a page may show a first result, compute more and then run again
                    if reply.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                        self.errors.append(ForwardMsg.ScriptFinishedStatus.Name(reply.script_finished))
        times.append((time.perf_counter() - start) * 1000)
        return field_id


def simulate_visitors(address: str, options: VisitorOptions) -> list[Visitor]:
    """Run all visitors at the same time and return them with the times and errors that they recorded."""
    changes = list(VISITOR_CHANGES.values())
    visitors = [Visitor(changes[index % len(changes)], index, options) for index in range(options.visitors)]

    async def run_all() -> None:
        await asyncio.gather(*(visitor.visit(address) for visitor in visitors))

    asyncio.run(run_all())
    return visitors


def time_first_visits(address: str, options: VisitorOptions) -> dict[str, float]:
    """Visit every page once, each in a new session, and return {page: the milliseconds until its script has run}.

    The time of a page includes the loading of its checkpoint, if no earlier page needed this checkpoint. It does not
    include the import of the app's modules: before the visits, a warm-up visitor opens a page, and in the next seconds
    the server imports all modules.

    Raises:
        BertlabError: a page could not be opened.
    """
    warm_up, *visitors = (Visitor(TextChange(page, "", ""), 0, options) for page in ("paper", *PAGES))
    asyncio.run(warm_up.visit(address))
    time.sleep(SECONDS_BEFORE_VISITS)
    for visitor in visitors:
        asyncio.run(visitor.visit(address))
        if visitor.errors:
            raise BertlabError("bench-app-page-failed", page=visitor.change.page, error=visitor.errors[0])
    return {visitor.change.page or "start": round(visitor.opening_ms[0], 1) for visitor in visitors}
