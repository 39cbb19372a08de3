"""Visitors of the app without a browser: sessions over Streamlit's own protocol."""

import asyncio
import random
import time
from typing import Protocol
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bertlab.bench.app_pages import CASES, PATIENCE, WORDS


class VisitOptions(Protocol):
    """How many visitors there are, and what they do."""

    people: int
    """Visitors at once."""
    turns: int
    """Changes of text by each."""
    seconds: float
    """Time over which these are spread."""
    checkpoint: str
    """The checkpoint to open, or ""."""


class Visitor:
    """One session over Streamlit's websocket, which opens a page, changes its text, and notes times and errors."""

    def __init__(self, number: int, options: VisitOptions):
        self.case = list(CASES.values())[number % len(CASES)]
        self.random = random.Random(number)
        self.number, self.options = number, options
        self.opening: list[float] = []
        self.times: list[float] = []
        self.errors: list[str] = []
        self.page = self.query = ""

    async def visit(self, address: str) -> None:
        """Take all turns. A lost connection or a late answer is an error and ends the visit."""
        try:
            async with connect(f"ws://{address}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as line:
                await self.take_turns(line)
        except (WebSocketException, OSError, TimeoutError) as error:
            self.errors.append(type(error).__name__)

    async def take_turns(self, line: ClientConnection) -> None:
        start = BackMsg()
        start.rerun_script.page_name = self.case.page
        chosen = {"checkpoint": self.options.checkpoint} if self.options.checkpoint else {}
        start.rerun_script.query_string = self.query = urlencode(self.case.parameters | chosen)
        field_id = await self.send(line, start, self.opening)
        for turn in range(self.options.turns):
            await asyncio.sleep(self.random.uniform(0, 2) * self.options.seconds / (self.options.turns + 1))
            # no two visitors write the same text, so that no answer is cached
            word = f"{WORDS[self.number % len(WORDS)]} and the {WORDS[-1 - turn]}"
            message = BackMsg()
            message.rerun_script.page_script_hash, message.rerun_script.query_string = self.page, self.query
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id, widget.string_value = field_id, self.case.text.format(word=word)
            await self.send(line, message, self.times)

    async def send(self, line: ClientConnection, message: BackMsg, times: list[float]) -> str:
        """Send a message, wait until the script has run, and return the id of the field."""
        field_id = ""
        start = time.perf_counter()
        await line.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = ForwardMsg.FromString(await line.recv())
                kind = reply.WhichOneof("type")
                if kind == "new_session":
                    self.page = reply.new_session.page_script_hash
                elif kind == "navigation":
                    self.page = reply.navigation.page_script_hash
                elif kind == "page_info_changed":
                    self.query = reply.page_info_changed.query_string
                elif kind == "delta":
                    element = reply.delta.new_element
                    if element.text_input.id.endswith(f"-{self.case.key}"):
                        field_id = element.text_input.id
                    if element.HasField("exception"):
                        self.errors.append(element.exception.type)
                    if 'role="alert"' in element.html.body:
                        self.errors.append(element.html.body)
                elif kind == "script_finished":
                    if reply.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                        break
                    self.errors.append(ForwardMsg.ScriptFinishedStatus.Name(reply.script_finished))
        times.append((time.perf_counter() - start) * 1000)
        return field_id


def visit_together(address: str, options: VisitOptions) -> list[Visitor]:
    """Let all visitors in at once and return them with what they noted."""
    visitors = [Visitor(number, options) for number in range(options.people)]

    async def together() -> None:
        await asyncio.gather(*(visitor.visit(address) for visitor in visitors))

    asyncio.run(together())
    return visitors
