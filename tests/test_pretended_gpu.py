"""What needs a GPU, where there is none: on one that the processor pretends to be."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a real one")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_what_needs_a_gpu():
    places = [str(ROOT / "tests" / "pretended_gpu"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "-m", "pytest", "-m", "cuda", "-p", "no:cacheprovider", "-v", str(ROOT / "tests")]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", told.stdout)[1]) >= 20
    assert "skipped" not in told.stdout
