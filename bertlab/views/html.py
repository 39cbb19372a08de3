"""Write a view as one HTML file that contains its payload, script and style and needs neither network nor server."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from bertlab.config.languages import DEFAULT, render
from bertlab.views import assets, payload
from bertlab.views.palette import PALETTE

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap, NeuronMap
    from bertlab.abilities.timeline.compute import Timeline

# The content security policy prevents the page from fetching or sending anything.
_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
html {{ background: {light[ground]}; color: {light[ink]}; }}
@media (prefers-color-scheme: dark) {{ html {{ background: {dark[ground]}; color: {dark[ink]}; }} }}
body {{ margin: 0 auto; padding: 24px clamp(12px, 3vw, 40px); max-width: 1280px; }}
h1 {{ font: 600 20px/1.3 system-ui, sans-serif; margin: 0 0 16px; overflow-wrap: anywhere; }}
{css}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="view"></div>
<script type="application/octet-stream" id="payload">{data}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""


def attention_html(attention: AttentionMap, *, title: str | None = None, options: dict | None = None) -> str:
    """Write the attention view, with all layers, as one offline page; see `AttentionPack.bytes` for the options."""
    return _page("attention", payload.AttentionPack(attention).complete_bytes(options), title, options)


def neuron_html(neuron: NeuronMap, *, title: str | None = None, options: dict | None = None) -> str:
    """Write the view *Inside one head* (queries, keys, scores) as one offline page."""
    return _page("neuron", payload.neuron_bytes(neuron, options=options), title, options)


def timeline_html(timeline: Timeline, *, title: str | None = None, log=(), options: dict | None = None) -> str:
    """Write the view *Time machine*, which shows one text in every snapshot of a run, as one offline page."""
    return _page("timeline", payload.timeline_bytes(timeline, log=log, options=options), title, options)


def _page(view: assets.View, data: bytes, title: str | None, options: dict | None) -> str:
    lang = (options or {}).get("lang", DEFAULT)
    return payload_html(view, data, title or render(f"figure-title-{view}", lang), lang)


def payload_html(view: assets.View, data: bytes, title: str, lang: str = DEFAULT) -> str:
    """Write a payload and the view that shows it as one offline page."""
    # base64 has no "<", so no token can end the script element; the title is escaped
    script, encoded = assets.bundle_for_host(view, "page"), base64.b64encode(data).decode()
    return _PAGE.format(
        lang=escape(lang), title=escape(title), **PALETTE["themes"], css=assets.css(), data=encoded, script=script
    )
