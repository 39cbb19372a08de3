"""F4, data -> picture: facts become payloads, figures and HTML. No model, no web framework.

payload         bytes for the canvas views: attention_bytes, complete_attention_bytes, neuron_bytes, with_options
assets          the views' scripts and styles as strings: static, css, module, streamlit_js
html            one offline page: attention_html, neuron_html
widget          JupyterLab: AttentionWidget, NeuronWidget
figures         Plotly: mask_bars, span_curves, embedding_strips, nsp_gauge, training_curves
passage         marked text as safe HTML: highlight, tokens_html
terminal        lines for the command line: mask_lines, next_sentence_lines, answer_lines, attention_lines, table
bertviz_view    bertviz's head view, offline, for short inputs: head_view_html
static/         attention.js, neuron.js, common.js (ES modules), common.css, the hosts' adapters, vendor/ (for bertviz)
"""
