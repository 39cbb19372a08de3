"""Show results of `explore` as payloads, figures and HTML. Only `live` and `live_lessons` need an open model.

payload         bytes for the canvas views: AttentionPack, neuron_bytes, timeline_bytes
token_labels    tokens as readable text: token_labels; the index of each token's word: word_indices
assets          the views' scripts and styles as strings: read_static, css, bundle_module, streamlit_js
html            a view as one offline page: attention_html, neuron_html, timeline_html
widget          JupyterLab: AttentionWidget, NeuronWidget, TimelineWidget
figures         Plotly: mask_bars, span_curves, embedding_strips, nsp_gauge
curves          Plotly: run_curves of several training runs
cost            Plotly: part_bars and growth_curve for what a model costs; amounts as text: format_quantity
choices         Plotly: choice_bars, choice_products
pair_laboratory Plotly: candidate_bars, pair_kind_bars for next-sentence prediction
guesses         Plotly: guess_bars
sentence_map    Plotly: sentence_map, cosine_matrix, cluster_matrix
positions       Plotly: position_maps, similarity_by_distance
side_by_side    Plotly: attention_maps of several models
serving         Plotly: step_bars of `bertlab bench serve`
block           Plotly: block_steps, layer_norms, rollout_map
differences     Plotly: head_differences, head_difference, layer_differences, layer_similarity, most_changed_tokens
change_figures  Plotly: before_after, head_map, lens_grid, lens_rank
evaluation      Plotly and HTML for an error analysis: confusion_map, value_scatter, group_bars, row_html
labels          Plotly and HTML for fine-tuned models: label_bars, value_scale, word_bars, tagged_html, tag_heat
xray            Plotly and HTML for the answer x-ray: columns_html, spans_html, threshold_strip, windows_figure
span_attention  Plotly and HTML for the attention between question and answer: heads_map, attended_tokens_html
wordpiece       Plotly and HTML for WordPiece: search_html, merges_html, vocabulary_bars
summary         Plotly and HTML for summaries: summary_html, score_bars
writing         Plotly and HTML for the writing aids: surprise_bars, gain_bars, corrections_html
pretraining     Plotly and HTML for a pre-training example: example_html, candidate_grid, loss_curves
ablation        the paper's ablation tables: markdown, figure
benchmarks      the paper's tables of results on tasks: markdown, figure, task_bars
passage         marked text as safe HTML: highlight, tokens_html
columns         results as columns of CSV files: heads, lens, prediction_change, layer_differences, windows
export          what the save menu needs: tidy (columns as JSON values), python_lines
numbers         numbers as text: percent, signed
shortening      texts short enough for a figure or a table: shorten, shorten_to_width, display_width
palette         the colours of every view, from static/palette.json
terminal        lines for the command line: mask_lines, next_sentence_lines, answer_lines, attention_lines, tag_lines
terminal_pretraining
                lines for an example of pre-training: example_lines
terminal_change lines for interventions and the logit lens: effect_lines, prediction_change_lines, lens_lines
terminal_cost, terminal_sentences, terminal_summary, terminal_writing
                lines for the results of the commands `cost`, `similar` and `cluster`, `summarise`, and `writing`
live            a checkpoint as one HTML page that runs it: live_html; live_lessons and printable prepare its contents
qr_code         a link as a QR code: qr_code
bertviz_view    bertviz's head, model and neuron view, offline, for short inputs: head_view_html, NotebookFrame
static/         ES modules: attention.js with data, lines, matrix, grid and state; neuron.js; timeline.js with
                snapshot_panel, loss_curve and numbers; figure.js, the save menu of a figure; shared modules: dom,
                canvas, texts, payload, svg, save; streamlit.js, jupyter.js and page.js, which show a view in
                Streamlit, in Jupyter and in an HTML page; live/, the scripts of `live`; vendor/, third-party libraries
"""
