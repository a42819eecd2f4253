"""Records the references of few values that the tests have computed, for those of later runs:

    .venv/bin/python -m pytest test && PYTHONPATH=test .venv/bin/python test/numerics/record_references.py

What is recorded already stays, unless the text of the reference has changed since.
"""

import numpy as np
import references

MOST_VALUES = 4000


def main():
    entries = dict(references.recorded())
    for path in references.DIRECTORY.glob("*.npz"):
        with np.load(path) as stored:
            arrays = dict(stored)
        if sum(array.size for array in arrays.values()) <= len(references.PREFIXES) * MOST_VALUES:
            entries[path.stem] = arrays
    references.record(entries)
    print(f"{len(entries)} references, {references.RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
