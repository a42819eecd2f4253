# Part of the bppsa project, under the MIT License.
"""Fine-tunes a step graph, one frame of a denoiser, over whole sequences of new voices.

    python examples/python/fine_tune_stream.py [--epochs N] [--save tuned.onnx]
"""

import argparse
import pathlib

import bppsa
from bppsa.data import voices

MODEL = pathlib.Path(__file__).resolve().parents[1] / "denoiser_step.onnx"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--save", default="tuned.onnx")
    options = parser.parse_args()

    # The states go out of one step and into the next; a batch is the axis that the file fixes at 1.
    model = bppsa.compile(
        MODEL,
        loss="mse",
        carry={"cache": "cache_next", "h": "h_next"},
        batch_axis={"x": 0, "y": 0},
        backward="sequential",
    )
    (noisy, clean), (unseen, wanted) = (voices.generate(n, 50, seed) for n, seed in ((96, 1), (16, 2)))
    before = model.eval({"x": unseen}, wanted)["loss"]
    model.fit(
        ({"x": noisy}, clean),
        val=({"x": unseen}, wanted),
        epochs=options.epochs,
        batch=16,
        lr=3e-3,
        lr_schedule="cosine",
        clip_norm=1.0,
    )
    print(f"mean squared error {before:.3f} -> {model.eval({'x': unseen}, wanted)['loss']:.3f}")
    model.save(options.save)


if __name__ == "__main__":
    main()
