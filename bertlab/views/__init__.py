"""Facts as payloads, figures and HTML. Imports no model and no web framework.

payload         bytes for the canvas views: AttentionPack, neuron_bytes, timeline_bytes
tokens          tokens as a reader sees them: token_labels, word_numbers
assets          the views' scripts and styles as strings: static, css, module, streamlit_js
html            one offline page: attention_html, neuron_html, timeline_html
widget          JupyterLab: AttentionWidget, NeuronWidget, TimelineWidget
figures         Plotly: mask_bars, span_curves, embedding_strips, nsp_gauge
curves          Plotly: run_curves of several training runs
differences     Plotly: head_differences, head_difference, layer_drift, layer_similarity, moved_most
passage         marked text as safe HTML: highlight, tokens_html
columns         columns of the CSV files that figures are saved as
palette         the colours of every view, from static/palette.json
terminal        lines for the command line: mask_lines, next_sentence_lines, answer_lines, attention_lines, table
bertviz_view    bertviz's head view, offline, for short inputs: head_view_html
static/         ES modules: attention.js with data, lines, matrix, grid and state; neuron.js; timeline.js; figure.js,
                the menu of a drawing; what they share: dom, canvas, words, payload, svg, save; the hosts'
                adapters; vendor/
"""
