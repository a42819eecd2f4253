"""Renders pages of `--emit=report` with Node.js instead of a browser.

Run as a script, it prints the body of the given page.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys


def parse(text):
    """Returns the data and the code of a page."""
    data, code = re.findall(r"<script(?: [^>]*)?>(.*?)</script>", text, re.S)
    return json.loads(data), code


def draw(text):
    """Returns the body of a page as rendered by its scripts."""
    report, code = parse(text)
    program = f"{code}\nprocess.stdout.write(drawReport({json.dumps(report)}))"
    run = subprocess.run(
        [shutil.which("node"), "-"], input=program, capture_output=True, text=True, check=True
    )
    return run.stdout


if __name__ == "__main__":
    sys.stdout.write(draw(pathlib.Path(sys.argv[1]).read_text()))
