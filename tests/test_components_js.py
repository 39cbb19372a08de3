"""The scripts of the app's own components in a real Chromium, called as Streamlit calls them."""

import pytest
from bertlab_app.widgets import components

from bertlab.views import assets

pytestmark = pytest.mark.browser
STATIC = components.STATIC

# Imports the script of a component and calls it once for each of `calls`: {"data": ...} or {"bytes": [...]}.
CALL_IN_ORDER = """async ({ script, html, calls }) => {
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const parentElement = document.createElement("div");
  parentElement.innerHTML = html;
  document.body.replaceChildren(parentElement);
  for (const { data, bytes } of calls) {
    const content = bytes ? new Uint8Array(bytes) : data;
    await module.default({ parentElement, data: content, setTriggerValue() {}, setStateValue() {} });
  }
  return parentElement.textContent;
}"""


@pytest.fixture
def call(chromium):
    """A function that calls the script of a component with several data, and returns the text that it then shows."""
    page = chromium.new_page()
    yield lambda script, html, calls: page.evaluate(CALL_IN_ORDER, {"script": script, "html": html, "calls": calls})
    page.close()


@pytest.fixture
def stamped(monkeypatch):
    """A function that returns what `_mount` passes to the browser for each of several data with one key."""
    monkeypatch.setattr(components.st, "session_state", {})

    def mount(key, *contents) -> list[dict]:
        calls = []
        for data in contents:
            components._mount(lambda key, data: calls.append(data), key, data)
        return [{"bytes": list(data)} if isinstance(data, bytes) else {"data": data} for data in calls]

    return mount


def words_script() -> tuple[str, str]:
    script = (STATIC / "words.js").read_text(encoding="utf-8")
    return components._ignore_late_data(script), '<div class="words"></div>'


def words(*texts) -> dict:
    return {"words": [{"before": "", "word": each, "masked": False, "punctuation": ""} for each in texts], "after": ""}


def test_data_that_arrive_late_are_ignored(call, stamped):
    older, newer = stamped("words", words("older"), words("newer"))
    assert "newer" in call(*words_script(), [older, newer])
    assert "newer" in call(*words_script(), [newer, older])
    assert "newer" in call(*words_script(), [newer, older, newer])


def test_another_component_in_the_same_place_is_drawn_although_its_data_are_older(call, stamped):
    (older,), (newer,) = stamped("left", words("older")), stamped("right", words("newer"))
    assert "older" in call(*words_script(), [newer, older])


def test_late_bytes_are_ignored_and_the_stamp_is_removed(call, stamped):
    script = components._ignore_late_data(
        "export default function ({ parentElement, data }) {\n"
        "  parentElement.textContent = new TextDecoder().decode(data);\n}\n"
    )
    older, newer = stamped("view", b"older", b"newer")
    assert call(script, "", [older, newer]) == "newer"
    assert call(script, "", [newer, older]) == "newer"


def test_data_that_have_not_changed_keep_their_stamp(stamped):
    first, second, third, fourth = stamped("words", words("a"), words("a"), words("b"), words("a"))
    assert first == second
    times = [each["data"]["stamp"]["time"] for each in (first, third, fourth)]
    assert times == sorted(set(times))


def test_every_script_of_a_component_is_guarded():
    scripts = [file.read_text(encoding="utf-8") for file in STATIC.glob("*.js") if file.name != "newest.js"]
    scripts += [assets.bundle_for_host(view, "streamlit") for view in ("attention", "neuron", "timeline", "figure")]
    for script in map(components._ignore_late_data, scripts):
        assert script.count("export default ") == 1
        assert len([line for line in script.splitlines() if "function drawComponent(" in line]) == 1
