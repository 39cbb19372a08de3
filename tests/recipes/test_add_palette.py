"""Recipe of CONTRIBUTING.md: a colour of the views, replaced by a file outside the package."""

import json
import os
import subprocess
import sys

DRAW = """
import json
from bertlab.tasks.masked_lm import Candidate, MaskFill
from bertlab.views import assets, figures
figure = figures.mask_bars(MaskFill(1, 0, 6, (Candidate("tea", 5, 0.4),)))
print(json.dumps([list(figure.data[0].marker.color), assets.bundle_module("attention")]))
"""


def test_python_and_javascript_draw_in_a_new_colour(tmp_path):
    path = tmp_path / "palette.json"
    path.write_text(json.dumps({"blue": "#123456"}))
    environment = os.environ | {"BERTLAB_PALETTE": str(path)}
    ran = subprocess.run([sys.executable, "-c", DRAW], env=environment, capture_output=True, text=True, check=True)
    colours, module = json.loads(ran.stdout)
    assert colours == ["#123456"]
    assert '"blue": "#123456"' in module
