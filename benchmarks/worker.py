# Part of the bppsa project, under the MIT License.
"""The loop of a worker process that measures one peer.

A worker reads JSON objects, one per line: `{"cell", "hidden", "features", "batch", "steps",
"repeat"}`. It answers each with the medians `forward_us`, `backward_us`, `update_us` and `step_us`
and the measured `variant`, or with `error`. It stays alive between requests, so that a peer
compiles each shape only once.
"""

import json
import sys
import traceback


def serve(versions, measure):
    """Announces `versions` (a dictionary), then answers requests with measure(request)."""
    # Peers may print to stdout, so the answers go to a copy of it.
    answers = sys.stdout
    sys.stdout = sys.stderr
    print(json.dumps({"ready": versions}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = measure(json.loads(line))
        except Exception as error:  # A failing shape must not end the run.
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)
