"""Limit the size of request bodies, and the time between two parts of a body."""

import asyncio

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# If a body is too large, the server reads and discards at most this many bytes of it before it replies, because many
# clients read the reply only after they have sent the whole body.
MAX_DISCARDED_BYTES = 64_000_000


class BodyTooLarge(HTTPException):
    """The body of a request is larger than the limit."""

    def __init__(self):
        super().__init__(413)


class BodyTooSlow(HTTPException):
    """The next part of a request body did not arrive within the time limit."""

    def __init__(self):
        super().__init__(408)


class BodyLimit:
    """A middleware: reading the body of a request raises an exception if the body is too large or arrives too slowly.

    Starlette has a class for this purpose, but that class replies in plain text instead of JSON.

    Args:
        app: the application.
        max_bytes: the maximum size of a body.
        seconds: the maximum time between two parts of a body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float):
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application with a limited body."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        size, is_complete = 0, False
        content_length = Headers(scope=scope).get("content-length", "")
        is_declared_too_large = content_length.isdecimal() and int(content_length) > self.max_bytes

        async def receive_part() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits until the client disconnects
            try:
                message = await asyncio.wait_for(receive(), self.seconds)
            except TimeoutError:
                raise BodyTooSlow from None
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            return message

        async def receive_limited_part() -> Message:
            message = await receive_part()
            if is_declared_too_large or size > self.max_bytes:
                while not is_complete and size < MAX_DISCARDED_BYTES:
                    await receive_part()
                raise BodyTooLarge
            return message

        return await self.app(scope, receive_limited_part, send)
