# Part of the bppsa project, under the MIT License.
"""Creates the example ONNX models and checks each against its source with ONNX Runtime."""

import argparse
import os
import sys

# The module that creates each file; listed here so that --list needs neither PyTorch nor onnx.
MAKERS = {
    "bitstream_rnn": "pytorch",
    "irmas_gru": "pytorch",
    "irmas_gru_dynamo": "pytorch",
    "lstm_tagger": "pytorch",
    "lstm_tagger_dynamo": "pytorch",
    "lstm_batch_first": "pytorch",
    "rnn_fixed_t": "pytorch",
    "rnn_fixed_t_30000": "pytorch",
    "keras_gru": "keras",
    "keras_lstm": "keras",
    "lenet5": "images",
    "denoiser_step": "streaming",
}


def strip(model):
    """Removes file paths and stack traces that exporters record."""
    model.doc_string = ""
    del model.metadata_props[:]
    graph = model.graph
    graph.doc_string = ""
    for entry in (
        graph,
        *graph.node,
        *graph.value_info,
        *graph.input,
        *graph.output,
        *graph.initializer,
    ):
        entry.doc_string = ""
        del entry.metadata_props[:]
    return model


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bppsa.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models (default: all)")
    parser.add_argument("--out", default="examples", help="folder to write to (default examples)")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(MAKERS))
        return 0
    for name in options.names:
        if name not in MAKERS:
            parser.error(f"unknown model '{name}', accepted: {', '.join(MAKERS)}")

    import importlib

    os.makedirs(options.out, exist_ok=True)
    for name in options.names or MAKERS:
        model = strip(importlib.import_module(f"bppsa.models.{MAKERS[name]}").make(name))
        path = os.path.join(options.out, f"{name}.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString(deterministic=True))
        print(f"{path}: {os.path.getsize(path)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
