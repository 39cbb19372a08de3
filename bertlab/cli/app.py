"""`bertlab app`: start the Streamlit app and open it in a browser."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.config.errors import BertlabError

# environment variables that tell `bertlab.app.access` what visitors may open
ALLOW, ALLOW_HUB = "BERTLAB_APP_ALLOW", "BERTLAB_APP_ALLOW_HUB"


@dataclass(frozen=True)
class App:
    """Open the app in a browser.

    Examples:
      bertlab app
      bertlab app --port 8600 --no-browser
      bertlab app --host 0.0.0.0 --allow /data/class
    """

    port: int = 8501
    """Port to listen on."""
    host: str = "localhost"
    """Address to listen on. 0.0.0.0 accepts connections from other machines. They may open the shipped checkpoints and
    runs, the directory `runs`, and the directories given with --allow."""
    allow: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="DIR ...")] = ()
    """Additional directories that visitors from other machines may open."""
    allow_hub: bool = False
    """Allow visitors from other machines to download models from the Hugging Face Hub."""
    browser: bool = True
    """Open a browser."""


def app(config: App) -> int:
    """Start the server. On Unix this process becomes the server; on Windows the server is a child process.

    Raises:
        BertlabError: the port cannot be used, a directory is missing, or streamlit is not installed.
    """
    script = Path(__file__).parents[1] / "app" / "streamlit_app.py"
    if not script.is_file():
        raise BertlabError("app-files-missing")
    if find_spec("streamlit") is None:
        raise BertlabError("app-needs-streamlit")
    if not 0 < config.port < 65536:
        raise BertlabError("app-port-invalid", port=config.port)
    for directory in config.allow:
        if not directory.expanduser().is_dir():
            raise BertlabError("app-directory-not-found", path=directory)
    with socket.socket() as probe:
        if probe.connect_ex(("localhost", config.port)) == 0:
            raise BertlabError("app-port-in-use", port=config.port)
    os.environ[ALLOW] = os.pathsep.join(str(directory.expanduser().resolve()) for directory in config.allow)
    os.environ[ALLOW_HUB] = str(int(config.allow_hub))
    options = {
        "server.port": config.port,
        "server.address": config.host,
        "server.headless": str(not config.browser).lower(),
        "server.showEmailPrompt": "false",
        "global.disableWidgetStateDuplicationWarning": "true",  # see `_draw` in bertlab/app/url.py
    }
    print(f"bertlab runs at http://{config.host}:{config.port} (Ctrl-C stops it)", flush=True)
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *flags]
    if sys.platform == "win32":  # on Windows, `exec` returns to the terminal before the server ends
        return subprocess.call(command)
    # this process becomes the server, so that stopping it (Ctrl-C, SIGTERM of a service) stops the server
    return os.execv(sys.executable, command)
