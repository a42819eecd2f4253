"""Records the small references computed by the tests for later runs:

    BPPSA_ALL_REFERENCES=1 .venv/bin/python -m pytest test
    PYTHONPATH=test .venv/bin/python test/numerics/record_references.py

Existing records are kept unless the source code of the reference has changed.
"""

import numpy as np
import references

MOST_VALUES = 4000


def main():
    entries = dict(references.recorded())
    for path in references.DIRECTORY.glob("*-64.npz"):
        key = path.stem.removesuffix("-64")
        arrays = {}
        for prefix in references.PREFIXES:
            with np.load(path.with_name(f"{key}-{prefix[:-1]}.npz")) as stored:
                arrays |= {prefix + name: array for name, array in stored.items()}
        if sum(array.size for array in arrays.values()) <= len(references.PREFIXES) * MOST_VALUES:
            entries[key] = arrays
    references.record(entries)
    print(f"{len(entries)} references, {references.RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
