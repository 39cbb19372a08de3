"""Show results of `explore` as payloads, figures and HTML. This package imports no model and no web framework.

payload         bytes for the canvas views: AttentionPack, neuron_bytes, timeline_bytes
token_labels    tokens as readable text: token_labels, word_numbers
assets          the views' scripts and styles as strings: read_static, css, bundle_module, streamlit_js
html            one offline page: attention_html, neuron_html, timeline_html
widget          JupyterLab: AttentionWidget, NeuronWidget, TimelineWidget
figures         Plotly: mask_bars, span_curves, embedding_strips, nsp_gauge
curves          Plotly: run_curves of several training runs
differences     Plotly: head_differences, head_difference, layer_differences, layer_similarity, most_changed_tokens
change_figures  Plotly: before_after, head_map, lens_grid, lens_rank
evaluation      Plotly and HTML for an error analysis: confusion_map, value_scatter, group_bars, row_html
labels          Plotly and HTML for fine-tuned models: label_bars, value_scale, word_bars, tagged_html, tag_heat
xray            Plotly and HTML for the answer x-ray: columns_html, spans_html, windows_figure, heads_map
pretraining     Plotly and HTML for pre-training by hand: example_html, candidate_grid, loss_curves
ablation        the paper's ablation tables: markdown, figure
passage         marked text as safe HTML: highlight, tokens_html
columns         results as columns of CSV files: heads, lens, prediction_change, layer_differences, windows
export          what the save menu needs: tidy (columns as JSON values), python_lines
numbers         numbers as text: percent, signed
shortening      texts short enough for a figure or a table: shorten, shorten_to_width, display_width
palette         the colours of every view, from static/palette.json
terminal        lines for the command line: mask_lines, next_sentence_lines, answer_lines, attention_lines, table
terminal_pretraining
                lines for an example of pre-training: example_lines
terminal_change lines for interventions and the logit lens: effect_lines, prediction_change_lines, lens_lines
bertviz_view    bertviz's head, model and neuron view, offline, for short inputs: head_view_html, NotebookFrame
static/         ES modules: attention.js with data, lines, matrix, grid and state; neuron.js; timeline.js with
                snapshot_panel, loss_curve and numbers; figure.js, the save menu of a figure; shared modules: dom,
                canvas, texts, payload, svg, save; one adapter for each host; vendor/
"""
