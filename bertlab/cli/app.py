"""`bertlab app`: start the Streamlit app and open it in a browser."""

import os
import secrets
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import tyro

import bertlab
from bertlab.checkpoints.assets import REPOSITORY
from bertlab.classroom.lesson import find_lessons, locate_lesson, read_lesson
from bertlab.config.errors import BertlabError

# environment variables that tell `bertlab_app.access` what visitors may open
ALLOW, ALLOW_HUB = "BERTLAB_APP_ALLOW", "BERTLAB_APP_ALLOW_HUB"
# environment variables of classroom mode: the lesson (a name or a file), the teacher's key, and the students' address
CLASSROOM_LESSON, CLASSROOM_KEY, CLASSROOM_ADDRESS = "BERTLAB_CLASS", "BERTLAB_CLASS_KEY", "BERTLAB_CLASS_ADDRESS"


@dataclass(frozen=True)
class App:
    """Open the app in a browser.

    Examples:
      bertlab app
      bertlab app --port 8600 --no-browser
      bertlab app --host 0.0.0.0 --allow /data/class
      bertlab app --class attention
      bertlab app --class my_lesson.toml
    """

    port: int = 8501
    """Port to listen on."""
    host: str = ""
    """Address to listen on: localhost by default, and 0.0.0.0 with --class. With 0.0.0.0, other machines can
    connect, and their users may open the shipped checkpoints, the shipped runs, everything in the directory `runs`, and
    the directories given with --allow."""
    allow: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="DIR ...")] = ()
    """Additional directories in which visitors from other machines may open checkpoints and files."""
    allow_hub: bool = False
    """Allow visitors from other machines to download models from the Hugging Face Hub."""
    class_: Annotated[str, tyro.conf.arg(name="class", metavar="LESSON")] = ""
    """Start a class: everyone who opens the students' address follows the teacher through a lesson. LESSON is
    attention, masked-tokens, training, or a lesson file (.toml). The teacher's address, which contains a key, is
    printed."""
    browser: bool = True
    """Open a browser. --class never opens one: open the teacher's address yourself."""


def app(config: App) -> int:
    """Start the server. On Unix this process becomes the server; on Windows the server is a child process.

    Raises:
        BertlabError: the port cannot be used, a directory is missing, or streamlit is not installed.
    """
    if find_spec("streamlit") is None:
        raise BertlabError("app-needs-streamlit")
    package = find_spec("bertlab_app") or PathFinder.find_spec("bertlab_app", [str(REPOSITORY / "app")])
    if package is None:
        raise BertlabError("app-files-missing")
    app_folder = Path(package.submodule_search_locations[0])
    script = app_folder / "launch" / ("class_server.py" if config.class_ else "streamlit_app.py")
    if not 0 < config.port < 65536:
        raise BertlabError("app-port-invalid", port=config.port)
    for directory in config.allow:
        if not directory.expanduser().is_dir():
            raise BertlabError("app-directory-not-found", path=directory)
    with socket.socket() as connection:
        if connection.connect_ex(("localhost", config.port)) == 0:
            raise BertlabError("app-port-in-use", port=config.port)
    host = config.host or ("0.0.0.0" if config.class_ else "localhost")
    for name in (CLASSROOM_LESSON, CLASSROOM_ADDRESS):  # values in the caller's environment must not start a class
        os.environ.pop(name, None)
    os.environ[ALLOW] = os.pathsep.join(str(directory.expanduser().resolve()) for directory in config.allow)
    os.environ[ALLOW_HUB] = str(int(config.allow_hub))
    streamlit_options = {
        "server.port": config.port,
        "server.address": host,
        "server.headless": str(not config.browser or bool(config.class_)).lower(),
        "server.showEmailPrompt": "false",
        "global.disableWidgetStateDuplicationWarning": "true",  # see `_draw_widget` in bertlab_app/widgets/fields.py
    }
    if config.class_:
        _prepare_class(config.class_, host, config.port, app_folder / "pages")
    print(f"bertlab runs at http://{host}:{config.port} (Ctrl-C stops it)", flush=True)
    flags = [f"--{name}={value}" for name, value in streamlit_options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *flags]
    if sys.platform == "win32":  # on Windows, `exec` returns to the terminal before the server ends
        return subprocess.call(command)
    # in an uninstalled clone, the server finds both packages by this variable
    folders = [str(app_folder.parent), str(Path(bertlab.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    # this process becomes the server, so that a signal to this process (Ctrl-C, a service's SIGTERM) stops the server
    return os.execv(sys.executable, command)


def _prepare_class(lesson: str, host: str, port: int, pages_folder: Path) -> None:
    """Check the lesson, choose the teacher's key, and print the addresses of the teacher and of the students.

    The environment variables of classroom mode pass lesson, key and address on to the server. `pages_folder` is the
    directory of the app's pages.

    If the environment variable BERTLAB_CLASS_KEY has a value, that value is the key, so that a service can restart with
    the same key.

    Raises:
        DataError: there is no such lesson, or its file is invalid.
    """
    pages = [path.stem.replace("_", "-") for path in pages_folder.glob("*.py")]
    for path in locate_lesson(lesson).values():
        read_lesson(path, pages)
    lesson_file = Path(lesson).expanduser()
    os.environ[CLASSROOM_LESSON] = (
        str(lesson_file.resolve()) if lesson_file.is_file() and lesson not in find_lessons() else lesson
    )
    os.environ.setdefault(CLASSROOM_KEY, secrets.token_urlsafe(24))
    students_address = os.environ[CLASSROOM_ADDRESS] = (
        f"http://{_find_own_address() if host in ('0.0.0.0', '::') else host}:{port}/"
    )
    print(
        f"Students open      {students_address}\n"
        f"The teacher opens  {students_address}?key={os.environ[CLASSROOM_KEY]}\n"
        "Keep the teacher's address to yourself: it contains the key.",
        flush=True,
    )


def _find_own_address() -> str:
    """Return the address of this machine in its network, or "localhost" if it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        try:
            connection.connect(("192.0.2.1", 9))  # an address reserved for documentation, which no machine has
            return connection.getsockname()[0]
        except OSError:
            return "localhost"
