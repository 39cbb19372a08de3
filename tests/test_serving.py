"""`bertlab serve` without processes: the routes and their errors, the queue, and the parts of predictions."""

import asyncio
import json
import re

import httpx2
import pytest
from support.errors import command_error, raises_error
from support.serving import DirectDispatcher
from support.tiny_model import TEXTS

from bertlab import cli
from bertlab.abilities.answer import Answer
from bertlab.abilities.classify import Classify
from bertlab.checkpoints import checkpoint, onnx_files
from bertlab.config.errors import CheckpointError
from bertlab.config.languages import render
from bertlab.serving.application import make_application
from bertlab.serving.errors import choose_language
from bertlab.serving.fields import find_routes
from bertlab.serving.queue import Request, RequestQueue
from bertlab.serving.worker import BatchPredictor
from bertlab.session import load

ROUTES = find_routes()
A, B = "Rain fell on the harbour.", "The boats stayed in."
PASSAGE = "The potter set the green bowl on the shelf. The keeper of the old mill carried the lantern."
REQUESTS = {
    "strongest": [
        ("/fill-mask", {"text": "The [MASK] bowl.", "top_k": 3}, ["fill-mask", "The [MASK] bowl.", "--top-k", "3"]),
        ("/fill-mask", {"text": A, "pair": "[MASK]."}, ["fill-mask", A, "--pair", "[MASK]."]),
        ("/next-sentence", {"first": A, "second": B}, ["next-sentence", A, B]),
    ],
    "sst2": [("/classify", {"text": A}, ["classify", A]), ("/classify", {"text": A, "pair": B}, ["classify", A, B])],
    "wikiann_en": [("/tag", {"text": PASSAGE}, ["tag", PASSAGE])],
    "squad": [
        ("/answer", {"question": "Who?", "passage": 9 * PASSAGE}, ["answer", "Who?", 9 * PASSAGE]),
        ("/answer", {"question": "Who?", "passage": PASSAGE, "n_best": 2, "threshold": -3.0},
         ["answer", "Who?", PASSAGE, "--n-best", "2", "--threshold", "-3"]),
    ],
}  # fmt: skip


def send(app, *requests: tuple[str, str, dict]) -> list[httpx2.Response]:
    """Send requests to an application, one after another; each is (method, path, arguments of httpx)."""

    async def run():
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            return [await client.request(method, path, **arguments) for method, path, arguments in requests]

    return asyncio.run(run())


def post(app, path: str, body: dict | str | bytes, **headers: str) -> httpx2.Response:
    content = json.dumps(body) if isinstance(body, dict | list) else body
    headers = {"content-type": "application/json"} | headers
    return send(app, ("POST", path, {"content": content, "headers": headers}))[0]


@pytest.fixture(scope="module")
def apps(checkpoints) -> dict:
    """The applications of the checkpoints; the bodies of requests are limited to 20 kB."""
    return {
        name: make_application(DirectDispatcher(checkpoints / name, max_kilobytes=20)) for name in (*REQUESTS, "bare")
    }


def assert_similar(actual: object, expected: object) -> None:
    """Compare two JSON values; numbers may differ by the rounding of another batch."""
    if isinstance(expected, float):
        assert actual == pytest.approx(expected, abs=1e-5)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert_similar(actual[key], value)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for pair in zip(actual, expected, strict=True):
            assert_similar(*pair)
    else:
        assert actual == expected


# -- replies


@pytest.mark.parametrize(
    ("name", "path", "body", "words"),
    [pytest.param(name, *request, id=request[0]) for name, rows in REQUESTS.items() for request in rows],
)
def test_a_reply_is_the_json_of_the_command(apps, shipped, capsys, name, path, body, words):
    reply = post(apps[name], path, body)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    assert cli.main([*words, "--checkpoint", str(shipped / name), "--json"]) == 0
    assert_similar(reply.json(), json.loads(capsys.readouterr().out))


def test_vectors_are_those_of_the_session(apps, checkpoints):
    texts = [A, TEXTS[5], "Rain " * 100]
    reply = post(apps["bare"], "/embed", {"texts": texts}).json()
    expected = load(checkpoints / "bare").sentence_vectors(texts, use_cache=False)
    assert_similar(reply["vectors"], expected.vectors_SP.round(6).astype(float).tolist())
    assert reply["truncated"] == [2]


def test_a_batch_gives_each_request_its_own_reply(checkpoints):
    """Requests of different lengths, and one with an error, in one batch; each reply is that of the request alone."""
    predictor = BatchPredictor(str(checkpoints / "squad"), "float32", 4)
    passages = [PASSAGE, 20 * PASSAGE, "", "Bread.", 3 * PASSAGE, TEXTS[0]]
    requests = [Answer(question="Who?", passage=passage) for passage in passages]
    replies = predictor.answer(requests)
    for request, reply in zip(requests, replies, strict=True):
        (alone,) = predictor.answer([request])
        if request.passage:
            assert_similar(json.loads(reply), json.loads(alone))
        else:
            assert reply.id == alone.id == "passage-empty"


def test_a_failure_affects_only_its_own_request(checkpoints, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    predictor = BatchPredictor(str(checkpoints / "sst2"), "float32", 8)
    compute = predictor.compute

    def fail(head, inputs, positions):
        if any(len(each.ids) > 20 for each in inputs):
            raise RuntimeError("out of something")
        return compute(head, inputs, positions)

    predictor.compute = fail
    texts = ["Bread.", 3 * TEXTS[0], "Tea."]
    first, second, third = predictor.answer([Classify(text=text) for text in texts])
    assert second.id == "unexpected-error"
    assert all("label" in json.loads(reply) for reply in (first, third))


def test_bfloat16_computes_similar_predictions(checkpoints):
    replies = [
        json.loads(BatchPredictor(str(checkpoints / "sst2"), precision, 8).answer(
            [Classify(text=A)])[0])
        for precision in ("float32", "bfloat16")
    ]  # fmt: skip
    difference = abs(replies[0]["labels"][0]["probability"] - replies[1]["labels"][0]["probability"])
    assert 0 < difference < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_an_onnx_file_is_served(checkpoints, tmp_path, weights):
    """ONNX Runtime gives the replies of the checkpoint; with int8, a reply does not depend on the rest of the batch."""
    pytest.importorskip("onnxruntime")
    for name, rows in REQUESTS.items():
        loaded = checkpoint.load(checkpoints / name)
        path = onnx_files.save(
            tmp_path / name, loaded.model, loaded.tokenizer, loaded.record, heads=loaded.heads, weights=weights
        )
        served, expected = (BatchPredictor(str(each), "float32", 8) for each in (path, checkpoints / name))
        assert "embed" in served.describe().missing
        for route, arguments, _ in rows:
            request = ROUTES[route](**arguments)
            (reply,), (alone,) = served.answer([request]), expected.answer([request])
            if weights == "float32":
                assert_similar(json.loads(reply), json.loads(alone))
            else:
                longer = {key: 2 * value if isinstance(value, str) else value for key, value in arguments.items()}
                assert served.answer([request, ROUTES[route](**longer)])[0] == reply
    with raises_error(CheckpointError, "serve-precision-of-onnx"):
        BatchPredictor(str(path), "bfloat16", 8)


# -- errors


BAD_BODIES = [
    ('{"text": ', 400, "serve-json-invalid"),
    (b"\xff\xfe{", 400, "serve-json-invalid"),
    ("[" * 9_000, 400, "serve-json-invalid"),
    ("", 422, "serve-body-not-object"),
    ([1], 422, "serve-body-not-object"),
    ({}, 422, "serve-field-missing"),
    ({"text": A, "textt": A}, 422, "serve-field-unknown"),
    ({"text": 3}, 422, "serve-field-not-text"),
    ({"text": None}, 422, "serve-field-not-text"),
    ({"text": [A]}, 422, "serve-field-not-text"),
    ('{"text": "a \\ud800"}', 422, "serve-field-not-unicode"),
    ({"text": ""}, 422, "text-empty"),
    ({"text": " \x00 "}, 422, "text-empty"),
    ({"text": A}, 422, "mask-missing"),
    ({"text": 50 * "[MASK] "}, 200, None),
    ({"text": 100 * "[MASK] "}, 422, "text-too-long"),
    ({"text": "[MASK]", "top_k": "5"}, 422, "serve-field-not-integer"),
    ({"text": "[MASK]", "top_k": True}, 422, "serve-field-not-integer"),
    ({"text": "[MASK]", "top_k": 1.5}, 422, "serve-field-not-integer"),
    ({"text": "[MASK]", "top_k": 0}, 422, "serve-field-too-small"),
    ({"text": "[MASK]", "top_k": 10**30}, 422, "serve-field-too-large"),
    ({"text": "a " * 11_000}, 413, "serve-body-too-large"),
]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("body", "status", "id"), BAD_BODIES)
def test_a_bad_request_gets_one_line_with_an_id(apps, body, status, id, language):
    reply = post(apps["strongest"], "/fill-mask", body, **{"accept-language": language})
    assert reply.status_code == status, reply.text
    if id:
        assert list(reply.json()) == ["error", "message"]
        assert reply.json()["error"] == id
        assert "\n" not in reply.json()["message"]
        assert "{" not in reply.json()["message"].replace('{"text": "..."}', "")
        assert bool(re.search("[가-힣]", reply.json()["message"])) == (language == "ko")


@pytest.mark.parametrize(
    ("name", "path", "body", "id"),
    [
        ("bare", "/embed", {"texts": []}, "serve-list-length"),
        ("bare", "/embed", {"texts": 65 * [A]}, "serve-list-length"),
        ("bare", "/embed", {"texts": A}, "serve-field-not-list"),
        ("bare", "/embed", {"texts": [A, 3]}, "serve-field-not-text"),
        ("bare", "/embed", {"texts": [A, ""]}, "text-without-tokens"),
        ("squad", "/answer", {"question": "", "passage": A}, "question-empty"),
        ("squad", "/answer", {"question": A, "passage": A, "threshold": "1"}, "serve-field-not-number"),
        ("strongest", "/next-sentence", {"first": A, "second": ""}, "second-text-empty"),
    ],
)
def test_other_fields_are_checked_too(apps, name, path, body, id):
    reply = post(apps[name], path, body)
    assert (reply.status_code, reply.json()["error"]) == (422, id)


def test_a_body_that_does_not_arrive_is_refused(checkpoints):
    async def send_slowly():
        yield b'{"te'
        await asyncio.sleep(60)

    app = make_application(DirectDispatcher(checkpoints / "sst2", time_limit=0.1))
    (reply,) = send(app, ("POST", "/classify", {"content": send_slowly()}))
    assert (reply.status_code, reply.json()["error"]) == (408, "serve-body-too-slow")


def test_a_route_without_output_layer_says_which_one_is_missing(apps):
    for name, app in apps.items():
        served = (
            {path for path, *_ in REQUESTS.get(name, ())}
            | {"/embed", "/summary"}
            | ({"/xray"} if name == "squad" else set())
        )
        for path in ROUTES.keys() - served:
            reply = post(app, path, "no JSON")
            assert (reply.status_code, reply.json()["error"]) == (404, "head-missing"), (name, path)


def test_unknown_routes_and_methods(apps):
    wrong, nothing = send(apps["sst2"], ("GET", "/classify", {}), ("GET", "/nothing", {}))
    assert (wrong.status_code, wrong.json()["error"]) == (405, "serve-method-not-allowed")
    assert (nothing.status_code, nothing.json()["error"]) == (404, "serve-route-unknown")
    assert "/classify" in nothing.json()["message"]
    assert "/tag" not in nothing.json()["message"]


def test_the_language_header():
    assert [choose_language(header) for header in ("ko", "KO-kr,en;q=0.5", "de, ko;q=0.1", "en;q=0.2,ko;q=x", "")] == [
        "ko", "ko", "ko", "en", "en",
    ]  # fmt: skip


def test_health_metrics_and_the_description(apps):
    app = apps["strongest"]
    post(app, "/next-sentence", {"first": A, "second": B})
    health, metrics, english, korean, docs = send(
        app, ("GET", "/health", {}), ("GET", "/metrics", {}), ("GET", "/openapi.json", {}),
        ("GET", "/openapi.json", {"headers": {"accept-language": "ko"}}), ("GET", "/docs", {}),
    )  # fmt: skip
    assert health.json()["checkpoint"] == "strongest"
    assert 'bertlab_requests_total{route="/next-sentence",status="200"}' in metrics.text
    assert {"/fill-mask", "/next-sentence", "/embed", "/summary", "/health", "/metrics"} == english.json()[
        "paths"
    ].keys()
    for language, schema in (("en", english.json()), ("ko", korean.json())):
        assert schema["paths"]["/next-sentence"]["post"]["summary"] == render("next-sentence-lead", language)
        assert not [value for each in schema["components"]["schemas"].values() for value in each["properties"].values()
                    if "description" not in value]  # fmt: skip
    urls = re.findall(r'(?:href|src)="([^"]+)"', docs.text)
    assert len(urls) > 2
    assert all(reply.status_code == 200 for reply in send(app, *(("GET", url, {}) for url in urls)))


def test_mistakes_on_the_command_line(shipped, monkeypatch):
    assert command_error("serve", "sst2", "--port", "70000").id == "app-port-invalid"
    assert command_error("serve", "sst2", "--host", "no.such.host.invalid").id == "serve-address-unusable"
    assert command_error("serve", "sst2", "--queue", "0").id == "setting-out-of-range"
    monkeypatch.setattr("bertlab.cli.serve.find_spec", lambda name: None if name == "fastapi" else object())
    error = command_error("serve", "sst2")
    assert (error.id, error.params["packages"]) == ("serve-needs-packages", ["fastapi"])


# -- the queue


def make_requests(*lengths: int, command: str = "tag") -> list[Request]:
    content = find_routes()[f"/{command}"].make_example()
    return [Request(content, asyncio.get_running_loop().create_future(), length) for length in lengths]


def take_lengths(queue: RequestQueue, *arguments: int) -> list[int]:
    return [request.length for request in queue.take_batch(*arguments)]


def test_a_batch_contains_requests_of_similar_length():
    async def run():
        queue = RequestQueue(10)
        for request in make_requests(10, 100, 11, 500, 12, 9, 90):
            queue.add(request)
        assert take_lengths(queue, 3) == [10, 11, 9]
        assert take_lengths(queue, 3) == [100, 90]
        assert take_lengths(queue, 3) == [500]
        assert take_lengths(queue, 3) == [12]
        assert take_lengths(queue, 3) == []

    asyncio.run(run())


def test_a_batch_has_one_command_and_free_workers_share_the_queue():
    async def run():
        queue = RequestQueue(10)
        for request in (*make_requests(5, 5), *make_requests(5, command="embed"), *make_requests(5)):
            queue.add(request)
        assert len(queue.take_batch(8, 2)) == 2
        assert [each.content.name for each in queue.take_batch(8)] == ["embed"]
        assert len(queue.take_batch(8)) == 1

    asyncio.run(run())


def test_requests_of_a_dead_worker_come_first_and_alone():
    async def run():
        queue = RequestQueue(3)
        new, old, answered = make_requests(5, 5, 5)
        queue.add(new)
        answered.future.set_result("")
        old.attempts = 1
        queue.put_back([old, answered])
        assert queue.take_batch(8) == [old]
        assert queue.take_batch(8) == [new]
        assert not queue.is_full

    asyncio.run(run())
