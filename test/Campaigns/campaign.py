"""Shared parts of all campaigns: starting commands, checking how they end, reporting faults.

A campaign is a subclass of `Campaign`. The driver, campaigns.py, creates a new folder and a random
source for every run and calls `run`. A run raises `Fault` if a command did not end correctly.
"""

import dataclasses
import os
import re
import shlex
import signal
import subprocess
import threading

# Text that only a crash, a sanitizer or an unhandled exception prints.
CRASHES = re.compile(
    r"LLVM ERROR|UNREACHABLE|Assertion|Stack dump|PLEASE submit|Sanitizer|: runtime error: |"
    r"terminate called|double free|corrupted|stack smashing|Traceback"
)
# Text of MLIR's verifier and of failed conversions, which does not help the author of a model.
INTERNALS = re.compile(
    r"'[a-z_]+\.[a-z_.]+' op|see current operation|op operand|failed to legalize|failed to verify|"
    r"unrealized_conversion_cast|\bloc\("
)
# Lines of bppsa-compile and of compiled programs that may accompany any result.
ASIDES = re.compile(r"(bppsa-compile: )?(warning|note): ")
# Control characters except tabs, and bytes that are not UTF-8.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\udc80-\udcff]")
DIVERGED = re.compile(r"the (loss|gradient)\b.* is -?(inf|nan)|not finite")
# Temporary files of interrupted writes of bppsa-compile and of compiled programs.
TEMPORARY = re.compile(r".*\.tmp\d+|\..*\.\d+\.tmp")


class Fault(Exception):
    """A command that ended incorrectly."""

    def __init__(self, message, run=None):
        super().__init__(message)
        self.run = run


@dataclasses.dataclass
class Run:
    """A finished command, started in its own folder."""

    command: list
    status: int
    output: str
    errors: str
    environment: dict

    def text(self):
        """Returns the command line for a shell."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*settings, shlex.join(self.command)])

    def lines(self):
        """Returns the lines of standard error except warnings and notes."""
        return [line for line in self.errors.splitlines() if not ASIDES.match(line)]

    def diverged(self):
        """Returns whether training ended at non-finite numbers, in which case it keeps its
        files."""
        return bool(DIVERGED.search(self.errors))

    def fail(self, message):
        raise Fault(message, self)


def start(folder, command, environment=None, **options):
    """Starts a command in `folder`, in its own process group."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
    return subprocess.Popen(
        [str(word) for word in command],
        stderr=options.pop("stderr", subprocess.PIPE),
        cwd=folder,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
        **options,
    )


def end(process, command, limit, environment=None):
    """Waits for a started command. Kills its group and faults after `limit` seconds."""
    command = [str(word) for word in command]
    try:
        output, errors = process.communicate(timeout=limit)
        late = False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        late = True
    texts = [(data or b"").decode(errors="surrogateescape") for data in (output, errors)]
    run = Run(command, process.returncode, *texts, environment or {})
    if late:
        run.fail(f"still running after {limit} s")
    return run


def execute(folder, command, limit=60, environment=None, **options):
    """Runs a command to its end."""
    return end(start(folder, command, environment, **options), command, limit, environment)


def check_end(run, accepted=(0, 1, 2), mayBeSilent=False, mayGoOn=False):
    """Faults unless the run ended with an accepted status and, on failure, with one line.

    mayBeSilent: standard error was not read, so there may be no line. mayGoOn: training may have
    reported failed writes before it failed.
    """
    if run.status < 0:
        run.fail(f"signal {-run.status}")
    if found := CRASHES.search(run.errors):
        run.fail(f"prints '{found.group(0)}'")
    if run.status not in accepted:
        run.fail(f"exit status {run.status}, accepted are {list(accepted)}")
    if found := INTERNALS.search(run.errors):
        run.fail(f"shows the user '{found.group(0)}'")
    if CONTROL.search(run.errors):
        run.fail("prints control characters or bytes that are not UTF-8")
    lines, expected = run.lines(), int(run.status != 0)
    if mayGoOn and len(lines) > 1:
        lines = [line for line in lines if not line.endswith("; training goes on")]
    if len(lines) != expected and not (mayBeSilent and not lines):
        run.fail(f"status {run.status} with {len(lines)} lines on standard error")


def check_files(run, folder, expected, optional=()):
    """Faults unless `folder` holds all of `expected` and nothing else except `optional`."""
    found = set(os.listdir(folder))
    if missing := set(expected) - found:
        run.fail(f"status {run.status} without {sorted(missing)}")
    if left := found - set(expected) - set(optional):
        run.fail(f"status {run.status} leaves {sorted(left)} behind")


class Campaign:
    """Runs of one type of fault. Subclasses set the names and implement `run`."""

    name = ""
    # Number of runs of a full campaign and of the short one in the test suite.
    count, short = 1000, 5
    # Seconds that a command may take on a busy machine.
    limit = 120

    def __init__(self, programs):
        self.programs = programs
        self.lock = threading.Lock()
        self.extremes = {}

    def prepare(self, folder):
        """Creates files shared by all runs in a folder that outlives them."""

    def run(self, source, folder):
        """Executes one run in an empty folder; returns a word for the statistics."""
        raise NotImplementedError

    def note_most(self, name, value):
        """Records the largest value of that name for the statistics."""
        with self.lock:
            self.extremes[name] = max(value, self.extremes.get(name, value))
