"""`bertlab serve`: answer requests over HTTP. The server is in `bertlab.serving`."""

from importlib.util import find_spec

from bertlab.config.errors import BertlabError
from bertlab.serving.options import ServeOptions

# the optional packages that the server needs
PACKAGES = ("fastapi", "fastapi_offline", "uvicorn", "prometheus_client")


def serve(config: ServeOptions) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Raises:
        BertlabError: a package is missing, the address cannot be used, or the checkpoint cannot be opened.
    """
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise BertlabError("serve-needs-packages", packages=[name.replace("_", "-") for name in missing])
    from bertlab.serving import server

    server.serve(config)
