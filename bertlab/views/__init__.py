"""Results as payloads of the canvas views, Plotly figures, HTML and lines for a terminal; abilities have their own.

`static/` has the canvas views as ES modules: one for each view, figure.js (the save menu of a figure), what they share,
one for each host (streamlit.js, jupyter.js, page.js), live/ (a checkpoint in one HTML page), and vendor/.
"""
