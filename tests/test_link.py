"""The end of a page: its link and QR code; and the skeleton that stands in for the page until it is computed."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import segno
from bertlab_app import access, skeleton
from support.pages import bodies, open_example_page
from support.texts import text

from bertlab.config.errors import TextError
from bertlab.views.qr_code import QUIET_ZONE, qr_code


def test_a_qr_code_is_a_local_image_with_the_modules_of_the_standard():
    link = "http://192.168.0.7:8501/fill-mask?text=a%20%5BMASK%5D"
    kind, svg = qr_code(link).split(",", 1)
    assert kind.startswith("data:image/svg+xml")
    ground, modules = ElementTree.fromstring(unquote(svg)).iter("{http://www.w3.org/2000/svg}path")
    assert ground.get("fill") == "#fff", "light in the dark theme too"
    assert modules.get("stroke") == "#000"
    rows = segno.make_qr(link, error="l", boost_error=False).matrix
    dark = sum(sum(row) for row in rows)
    assert sum(int(length) for length in re.findall(r"h(\d+)", modules.get("d"))) == dark
    assert modules.get("d").startswith(f"M{QUIET_ZONE} {QUIET_ZONE}.5h7")


def test_a_link_that_is_too_long_for_a_qr_code_is_refused():
    assert qr_code("x" * 2900)
    with pytest.raises(TextError) as error:
        qr_code("x" * 3000)
    assert error.value.id == "link-too-long-for-qr-code"


@pytest.mark.parametrize(
    ("host", "expected"), [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("pc", False)]
)
def test_only_addresses_of_this_machine_are_loopback(host, expected):
    assert access.is_loopback(host) == expected


def test_a_click_shows_the_qr_code(monkeypatch):
    app = open_example_page("cost", lang="en")
    assert not any("qr-code" in body for body in bodies(app)), "it is made on demand"
    app.button(key="qr-code").click().run()
    (image,) = (body for body in bodies(app) if 'class="qr-code"' in body)
    assert f'alt="{text("qr-code-label")}"' in image


def test_the_skeleton_is_drawn_and_removed(monkeypatch):
    drawn, draw = [], skeleton.draw
    monkeypatch.setattr(skeleton, "draw", lambda place, line="": (drawn.append(line), draw(place, line)))
    app = open_example_page("cost", lang="ko")
    assert drawn == [text("page-loading", "ko")]
    assert not any('class="skeleton"' in body for body in bodies(app))
    app.run()
    assert len(drawn) == 1, "a page that is in sight already has no skeleton"
