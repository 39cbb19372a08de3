"""The FastAPI application of `bertlab serve`."""

import time

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import bertlab
from bertlab.abilities.ability import Ability
from bertlab.config.crash_log import log_unexpected_error
from bertlab.config.errors import BertlabError, MissingHead
from bertlab.config.languages import languages, render
from bertlab.serving.body_limit import BodyLimit, BodyTooLarge, BodyTooSlow
from bertlab.serving.dispatcher import Dispatcher, NoWorker, QueueFull, RequestKillsWorkers, TimeLimitExceeded
from bertlab.serving.errors import choose_language, describe_invalid_fields, format_error
from bertlab.serving.fields import find_routes, make_fields
from bertlab.serving.metrics import ServerMetrics

JSON_MEDIA_TYPE = "application/json"
INFO_ROUTES = ("/health", "/metrics", "/docs", "/openapi.json")  # the routes that compute no prediction
STATUS = {MissingHead: 404, QueueFull: 429, RequestKillsWorkers: 500, NoWorker: 503, TimeLimitExceeded: 504}
"""Type of an error -> HTTP status. Errors of other types have the status 500 if their id is in `SERVER_ERRORS`,
otherwise 422."""
SERVER_ERRORS = ("out-of-memory", "unexpected-error", "unexpected-error-without-log")
"""The ids of errors that are not the client's fault; the status is 500."""
RETRY_SECONDS = {429: 1, 503: 5}
"""HTTP status -> seconds after which the client should try again, for the header Retry-After."""


def make_application(dispatcher: Dispatcher) -> FastAPI:
    """Make the application for a dispatcher that has been started."""
    options, description = dispatcher.options, dispatcher.description
    app = FastAPIOffline(title=f"bertlab: {description.checkpoint}", redoc_url=None)
    for path, ability in find_routes().items():
        if ability.name in description.missing:
            _add_refusing_route(app, path, description.missing[ability.name])
        else:
            _add_route(app, path, ability, dispatcher)
    _add_info_routes(app, dispatcher)
    _add_error_handlers(app, dispatcher)
    app.add_middleware(BodyLimit, max_bytes=1000 * options.max_kilobytes, seconds=options.time_limit)
    app.add_middleware(RequestCounter, metrics=dispatcher.metrics)
    return app


def load_messages() -> None:
    """Read the messages of all languages, which takes a second, so that no request has to wait for them."""
    for language in languages():
        render("serve-about", language)


# -- routes ------------------------------------------------------------------------------------------------------


def _add_route(app: FastAPI, path: str, ability: type[Ability], dispatcher: Dispatcher) -> None:
    """Add a route that replies with the prediction of a worker."""

    async def predict(fields) -> Response:
        return Response(await dispatcher.answer(ability(**fields.model_dump())), media_type=JSON_MEDIA_TYPE)

    predict.__annotations__["fields"] = make_fields(
        ability
    )  # FastAPI reads the fields of a request from the annotation
    app.post(path, name=path.removeprefix("/"))(predict)


def _add_refusing_route(app: FastAPI, path: str, error: BertlabError) -> None:
    """Add a route that always replies with an error, because the checkpoint lacks what the route needs.

    Args:
        app: the application.
        path: the route.
        error: says what is missing, for example an output layer.
    """

    async def refuse(request: Request) -> Response:
        return _make_reply(request, error, 404)

    app.post(path, include_in_schema=False)(refuse)


def _add_info_routes(app: FastAPI, dispatcher: Dispatcher) -> None:
    """Add `INFO_ROUTES`, except /docs, which FastAPI adds itself."""

    @app.get("/health", name="health")
    async def health() -> Response:
        ready = len(dispatcher.workers)
        body = {
            "status": "ready" if ready else "unavailable", "checkpoint": dispatcher.description.checkpoint,
            "workers": ready, "queue_length": len(dispatcher.queue),
        }  # fmt: skip
        return JSONResponse(body, 200 if ready else 503)

    @app.get("/metrics", name="metrics")
    async def metrics() -> Response:
        return Response(dispatcher.metrics.format(), media_type="text/plain; version=0.0.4; charset=utf-8")

    # remove FastAPI's own /openapi.json, whose texts are in one language; the route below takes its place
    app.router.routes = [route for route in app.router.routes if getattr(route, "path", "") != "/openapi.json"]

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        return JSONResponse(make_openapi(app, _read_language(request)))


def make_openapi(app: FastAPI, language: str) -> dict:
    """Describe the routes in the OpenAPI format, with the texts of a language."""
    about = render("serve-about", language)
    schema = get_openapi(title=app.title, version=bertlab.__version__, description=about, routes=app.routes)
    for path, methods in schema["paths"].items():
        for method in methods.values():
            ability = find_routes().get(path)
            id = f"{ability.page or ability.name}-lead" if ability else f"serve-route-{path.removeprefix('/')}"
            method["summary"] = render(id, language)
            # FastAPI documents this status with an error format of its own, which the server does not use
            method["responses"].pop("422", None)
    components = schema.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.pop(name, None)
    for fields in components.values():
        for name, value in fields["properties"].items():
            value["description"] = render(f"serve-field-{name.replace('_', '-')}", language)
    return schema


# -- errors ------------------------------------------------------------------------------------------------------


def _read_language(request: Request) -> str:
    return choose_language(request.headers.get("accept-language", ""))


def _make_reply(request: Request, error: BertlabError, status: int) -> Response:
    headers = {"Retry-After": str(RETRY_SECONDS[status])} if status in RETRY_SECONDS else {}
    return Response(format_error(error, _read_language(request)), status, headers, media_type=JSON_MEDIA_TYPE)


def _add_error_handlers(app: FastAPI, dispatcher: Dispatcher) -> None:
    served_routes = [
        path for path, ability in find_routes().items() if ability.name not in dispatcher.description.missing
    ]

    @app.exception_handler(BertlabError)
    async def handle_error(request: Request, error: BertlabError) -> Response:
        return _make_reply(request, error, 500 if error.id in SERVER_ERRORS else STATUS.get(type(error), 422))

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_fields(request: Request, error: RequestValidationError) -> Response:
        status, field_error = describe_invalid_fields(request.url.path, error.errors())
        return _make_reply(request, field_error, status)

    @app.exception_handler(BodyTooLarge)
    async def handle_large_body(request: Request, error: BodyTooLarge) -> Response:
        dispatcher.metrics.rejected.labels("too-large").inc()
        limit = dispatcher.options.max_kilobytes
        return _make_reply(request, BertlabError("serve-body-too-large", kilobytes=limit), error.status_code)

    @app.exception_handler(BodyTooSlow)
    async def handle_slow_body(request: Request, error: BodyTooSlow) -> Response:
        return _make_reply(request, BertlabError("serve-body-too-slow"), error.status_code)

    @app.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> Response:
        path = request.url.path[:100]
        if error.status_code == 404:
            return _make_reply(
                request, BertlabError("serve-route-unknown", path=path, routes=[*served_routes, *INFO_ROUTES]), 404
            )
        if error.status_code == 405:
            return _make_reply(request, BertlabError("serve-method-not-allowed", path=path, method=request.method), 405)
        # the body cannot be read as JSON, for example because it is not UTF-8
        return _make_reply(request, BertlabError("serve-json-invalid"), error.status_code)

    @app.exception_handler(Exception)
    async def handle_bug(request: Request, error: Exception) -> Response:
        return _make_reply(request, log_unexpected_error(error, request.url.path), 500)


class RequestCounter:
    """A middleware that counts replies by route and status, and measures the time until each reply begins.

    Args:
        app: the application.
        metrics: the metrics that are updated with every reply.
    """

    def __init__(self, app: ASGIApp, metrics: ServerMetrics):
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, count its reply, and measure the time until the reply begins."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        start = time.perf_counter()
        self.metrics.received += 1
        # unknown paths share one label, because every label takes memory
        route = scope["path"] if scope["path"] in {*find_routes(), *INFO_ROUTES} else "other"

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.metrics.requests.labels(route, message["status"]).inc()
                self.metrics.seconds.labels(route).observe(time.perf_counter() - start)
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self.metrics.answered += 1

        return await self.app(scope, receive, send_and_count)
