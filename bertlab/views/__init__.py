"""Show results of `explore` as payloads, figures and HTML. Imports no model and no web framework.

payload         bytes for the canvas views: AttentionPack, neuron_bytes, timeline_bytes
token_labels    tokens as readable text: token_labels, word_numbers
assets          the views' scripts and styles as strings: read_static, css, bundle_module, streamlit_js
html            one offline page: attention_html, neuron_html, timeline_html
widget          JupyterLab: AttentionWidget, NeuronWidget, TimelineWidget
figures         Plotly: mask_bars, span_curves, embedding_strips, nsp_gauge
curves          Plotly: run_curves of several training runs
differences     Plotly: head_differences, head_difference, layer_drift, layer_similarity, most_changed_tokens
passage         marked text as safe HTML: highlight, tokens_html
columns         columns of the CSV files that figures are saved as
palette         the colours of every view, from static/palette.json
terminal        lines for the command line: mask_lines, next_sentence_lines, answer_lines, attention_lines, table
bertviz_view    bertviz's head view, offline, for short inputs: head_view_html
static/         ES modules: attention.js with data, lines, matrix, grid and state; neuron.js; timeline.js with
                snapshot_panel, loss_curve and numbers; figure.js, the save menu of a figure; shared modules: dom,
                canvas, texts, payload, svg, save; one adapter for each host; vendor/
"""
