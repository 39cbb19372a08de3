"""Runs the tests that need a GPU on a simulated one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a real GPU is available")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_cuda_tests_pass_on_a_simulated_gpu():
    paths = [str(ROOT / "tests" / "simulated_gpu"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "pytest", "-m", "cuda", "-p", "no:cacheprovider", "-v", str(ROOT / "tests")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) >= 20
    assert "skipped" not in result.stdout
