# Part of the bppsa project, under the MIT License.
"""Counts FLOPs of scan plans on pruned VGG-11 by the plan evaluator (Figure 10 of the BPPSA paper).

    python benchmarks/vgg11_plans.py --opt=build/bin/bppsa-opt [--kept=3] [-o FILE]

The network is VGG-11 without batch normalization on one 32 x 32 image. Its pruned weights are not
public, so a seed determines the kept percentage of them, the active ReLUs and the maximum of each
window. `guaranteed` uses the zeros known at compile time; `sample` also uses the zeros of one
sample, as the published code does.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

# Input channels, output channels, image size, and whether a 2 x 2 max pool follows.
CONVOLUTIONS = [
    (3, 64, 32, True),
    (64, 128, 16, True),
    (128, 256, 8, False),
    (256, 256, 8, True),
    (256, 512, 4, False),
    (512, 512, 4, True),
    (512, 512, 2, False),
    (512, 512, 2, True),
]
FIGURES = (
    "steps",
    "depth",
    "compose",
    "apply",
    "flops",
    "critical_path_flops",
    "span_flops",
    "max_flops",
    "bytes",
    "link_bytes",
    "peak_bytes",
    "makespans",
)


def pruned_convolution(random, inputs, outputs, size, kept):
    """Returns the columns of each row of the transposed Jacobian of a padded 3 x 3 convolution."""
    rows = [[] for _ in range(inputs * size * size)]
    weights = random.random((outputs, inputs, 3, 3)) < kept
    for o, i, ky, kx in np.argwhere(weights):
        for y in range(max(0, 1 - ky), min(size, size + 1 - ky)):
            for x in range(max(0, 1 - kx), min(size, size + 1 - kx)):
                row = (i * size + y + ky - 1) * size + x + kx - 1
                rows[row].append((o * size + y) * size + x)
    return rows, outputs * size * size


def max_pool(random, channels, size, of_sample):
    """Returns the rows of a 2 x 2 max pool: each element, or only the maximum, has an entry."""
    half = size // 2
    c, y, x = np.meshgrid(*(np.arange(n) for n in (channels, size, size)), indexing="ij")
    window = ((c * half + y // 2) * half + x // 2).reshape(-1)
    place = (y % 2 * 2 + x % 2).reshape(-1)
    largest = random.integers(4, size=channels * half * half)
    is_entry = (place == largest[window]) | (not of_sample)
    rows = [[int(w)] if e else [] for w, e in zip(window, is_entry)]
    return rows, channels * half * half


def links(kept, of_sample):
    """Yields (rows, number of columns, whether all samples share it) in the order of cotangents."""
    random = np.random.default_rng(4202)
    linear = [list(np.flatnonzero(random.random(10) < kept)) for _ in range(512)]
    yield linear, 10, True
    for inputs, outputs, size, pooled in reversed(CONVOLUTIONS):
        if pooled:
            yield (*max_pool(random, outputs, size, of_sample), False)
        active = random.integers(2, size=outputs * size * size) | (not of_sample)
        yield [[k] if a else [] for k, a in enumerate(active)], len(active), False
        yield (*pruned_convolution(random, inputs, outputs, size, kept), True)


def write_chain(path, chain):
    """Writes the links as jacobian.apply ops; the result of the last one, the image gradient, is
    unused."""
    types, body, entering = [], [], None
    for k, (rows, cols_of, shared) in enumerate(chain):
        size = len(rows)
        text = ", ".join(f"[{', '.join(map(str, sorted(row)))}]" for row in rows)
        pattern = f"#jacobian.pattern<{size}x{cols_of}, [{text}], [0 to {size - 1}]>"
        batch = "" if shared else ", batch = 1"
        types.append(f"!j{k} = !jacobian.matrix<{size}x{cols_of}xf32, csr({pattern}){batch}>")
        body.append(
            f"  %{k + 1} = jacobian.apply %j{k}, %{k} : !j{k}, tensor<1x{cols_of}xf32> "
            f"-> tensor<1x{size}xf32>"
        )
        entering = cols_of
    arguments = "".join(f"%j{k}: !j{k}, " for k in range(len(types)))
    lines = [
        *types,
        f"func.func @vgg11({arguments}%seed: tensor<1x10xf32>) -> tensor<1x{entering}xf32> {{",
        *(line.replace("%0 :", "%seed :") for line in body),
        f"  return %{len(body) - 1} : tensor<1x{entering}xf32>",
        "}",
    ]
    path.write_text("\n".join(lines) + "\n")


def evaluate(opt, chain, levels, of_sample, folder):
    """Returns the results of hybrid:0 to hybrid:(levels - 1), and the FLOPs of each of their
    levels."""
    write_chain(folder / "chain.mlir", chain)
    plans = ",".join(f"hybrid:{level}" for level in range(levels))
    options = f"algorithms={plans} workers=1,2,16,1024 output={folder}/plans.json"
    if of_sample:
        options += " sparse-cotangents"
    command = [opt, folder / "chain.mlir", f"--bppsa-evaluate-plan={options}", "-o", "/dev/null"]
    subprocess.run(command, check=True)
    (result,) = json.loads((folder / "plans.json").read_text())["chains"]
    return [
        {
            "plan": plan["plan"],
            **{name: plan[name] for name in FIGURES},
            "levels": [
                {name: level[name] for name in ("sweep", "repeat", "flops", "max_flops")}
                for level in plan["levels"]
            ],
        }
        for plan in result["plans"]
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opt", default="bppsa-opt", help="the bppsa-opt to run")
    parser.add_argument("--kept", default="3", help="percentages of weights that are kept")
    parser.add_argument("-o", "--output", help="JSON file to write; standard output if absent")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for percentage in arguments.kept.split(","):
            for view in ("guaranteed", "sample"):
                chain = links(float(percentage) / 100, view == "sample")
                levels = 4 if view == "sample" else 3
                plans = evaluate(
                    arguments.opt, chain, levels, view == "sample", pathlib.Path(folder)
                )
                results.append({"kept_percent": float(percentage), "zeros": view, "plans": plans})
    text = json.dumps(results, indent=1) + "\n"
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
