"""A hook of MkDocs: the plugin for languages makes new file objects, which no longer say that a notebook is a page."""

from mkdocs.plugins import event_priority


@event_priority(-200)  # after that plugin
def on_files(files, config):
    for file in files:
        if file.src_uri.endswith(".ipynb"):
            file.is_documentation_page = lambda: True
    return files
