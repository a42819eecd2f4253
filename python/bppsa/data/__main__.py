# Part of the bppsa project, under the MIT License.
"""Writes a generated training set as an ``.npz`` file for compiled programs."""

import argparse
import os
import sys


def _positive(kind):
    def convert(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not greater than 0")
        return value

    return convert


def _parser():
    parser = argparse.ArgumentParser(prog="python -m bppsa.data", description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--samples", type=_positive(int), required=True, help="number of samples")
    common.add_argument(
        "--seed", type=int, default=1, help="the same seed gives the same set (default 1)"
    )
    common.add_argument("--out", required=True, help="the .npz file to write")
    common.add_argument(
        "--name", default="x", help="the model's input that the samples feed (default x)"
    )
    common.add_argument("--compress", action="store_true", help="smaller file, slower to write")

    sequences = argparse.ArgumentParser(add_help=False)
    sequences.add_argument(
        "--batch-major", action="store_true", help="[N, T, F] instead of [T, N, F]"
    )

    sets = parser.add_subparsers(dest="set", required=True)
    bitstream = sets.add_parser(
        "bitstream", parents=[common, sequences], help="Bernoulli bitstreams, 10 classes"
    )
    bitstream.add_argument("--length", type=_positive(int), required=True, help="time steps")
    irmas = sets.add_parser(
        "irmas", parents=[common, sequences], help="instrument-like MFCC features, 11 classes"
    )
    irmas.add_argument(
        "--size", choices=("s", "m", "l"), required=True, help="259x38, 517x24 or 1034x12 for 3 s"
    )
    irmas.add_argument(
        "--seconds", type=_positive(float), default=3.0, help="clip length (default 3)"
    )
    gratings = sets.add_parser(
        "gratings", parents=[common], help="images of oriented stripes, 10 classes"
    )
    gratings.add_argument(
        "--size", type=_positive(int), default=32, help="rows and columns (default 32)"
    )
    gratings.add_argument("--channels", type=_positive(int), default=3, help="default 3")
    voices = sets.add_parser("voices", parents=[common], help="speech-like tones in noise")
    voices.add_argument(
        "--frames", type=_positive(int), required=True, help="time steps of 64 values"
    )
    return parser


def _generate(options):
    # Imported here so that --help works without NumPy.
    from bppsa.data import bitstream, gratings, irmas, voices

    if options.set == "bitstream":
        return bitstream.generate(options.samples, options.length, options.seed)
    if options.set == "voices":
        return voices.generate(options.samples, options.frames, options.seed)
    if options.set == "gratings":
        return gratings.generate(options.samples, options.seed, options.size, options.channels)
    return irmas.generate(options.samples, options.size, options.seed, options.seconds)


def main(arguments=None):
    options = _parser().parse_args(arguments)
    try:
        import numpy as np

        x, target = _generate(options)
        if getattr(options, "batch_major", False):
            x = np.ascontiguousarray(x.swapaxes(0, 1))
        save = np.savez_compressed if options.compress else np.savez
        # Passing a file object prevents NumPy from appending .npz. The rename prevents an
        # incomplete file after a killed run.
        partial = options.out + ".partial"
        with open(partial, "wb") as file:
            save(file, **{options.name: x, "target": target})
        os.replace(partial, options.out)
    except (ImportError, OSError, ValueError) as error:
        print(f"bppsa.data: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: {options.name} {list(x.shape)}, target {list(target.shape)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
