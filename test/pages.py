"""Draws pages of `--emit=report` with Node.js, as a browser does.

Run as a script, it prints the body of the page that its argument names.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys


def parse(text):
    """The data and the code of a page."""
    data, code = re.findall(r"<script(?: [^>]*)?>(.*?)</script>", text, re.S)
    return json.loads(data), code


def draw(text):
    """What the scripts of a page put in its body."""
    report, code = parse(text)
    program = f"{code}\nprocess.stdout.write(drawReport({json.dumps(report)}))"
    run = subprocess.run(
        [shutil.which("node"), "-"], input=program, capture_output=True, text=True, check=True
    )
    return run.stdout


if __name__ == "__main__":
    sys.stdout.write(draw(pathlib.Path(sys.argv[1]).read_text()))
