"""`bertlab app`: the browser window, started. Knows nothing of what it shows."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bertlab.config.errors import BertlabError


@dataclass(frozen=True)
class App:
    """Open the browser window.

    Examples:
      bertlab app
      bertlab app --port 8600 --no-browser
    """

    port: int = 8501
    """Where it listens."""
    host: str = "localhost"
    """0.0.0.0 lets a whole classroom in."""
    browser: bool = True
    """Open a browser, where there is a screen."""


def app(config: App) -> int:
    script = Path(__file__).parents[1] / "app" / "streamlit_app.py"
    if not script.is_file():
        raise BertlabError("the window is not here: run bertlab from a clone of its repository")
    if find_spec("streamlit") is None:
        raise BertlabError("the window needs streamlit: pip install -r requirements.txt")
    if not 0 < config.port < 65536:
        raise BertlabError(f"there is no port {config.port}: they go from 1 to 65535")
    with socket.socket() as probe:
        if probe.connect_ex(("localhost", config.port)) == 0:
            raise BertlabError(f"port {config.port} is in use: choose another with --port")
    options = {
        "server.port": config.port,
        "server.address": config.host,
        "server.headless": str(not config.browser).lower(),
        "server.showEmailPrompt": "false",
        "global.disableWidgetStateDuplicationWarning": "true",  # see `_drawn` in bertlab/app/url.py
    }
    print(f"bertlab opens on http://{config.host}:{config.port} (Ctrl-C closes it)", flush=True)
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *flags]
    if sys.platform == "win32":  # there exec leaves the terminal before the window closes
        return subprocess.call(command)
    # this process becomes the server, so that whoever stops it (Ctrl-C, SIGTERM of a service) stops the server
    return os.execv(sys.executable, command)
