"""Invalid input gives exit status 1, one line on stderr, and no output file."""

import io
import os
import resource
import zipfile

import fake_trainer
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save

GOOD = samples(40)


def changed(**changes):
    arrays = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return arrays


def with_element(name, value):
    array = GOOD[name].copy()
    array.flat[array.size // 2] = value
    return changed(**{name: array})


ARRAYS = {
    "rank": (changed(x=GOOD["x"][0]), "'x'", "rank 2"),
    "feature size": (changed(x=GOOD["x"][..., :2]), "'x'", "size 3"),
    "name": (changed(x=None, X=GOOD["x"]), "no array 'x'"),
    "extra array": (changed(y=GOOD["x"]), "unknown array 'y'"),
    "float64": (changed(x=GOOD["x"].astype(np.float64)), "'x'", "float64", "astype"),
    "bfloat16": (changed(x=GOOD["x"].astype(np.float16).view("V2")), "'x'", "|V2", "bfloat16"),
    "integers": (changed(x=GOOD["x"].astype(np.int32)), "'x'", "int32"),
    "big-endian": (changed(x=GOOD["x"].astype(">f4")), "'x'", ">f4"),
    "objects": (changed(x=np.array([None, "a"], object)), "'x'", "|O"),
    "strings": (changed(x=np.array(["a", "b"])), "'x'", "<U1"),
    "records": (changed(x=np.zeros(3, [("a", "<f4")])), "'x'", "structured"),
    "float target": (changed(target=GOOD["target"].astype(np.float32)), "'target'", "float32"),
    "bool target": (changed(target=GOOD["target"] > 0), "'target'", "bool"),
    "class 4": (with_element("target", 4), "'target'", "[20] is 4", "0 to 3"),
    "class -1": (with_element("target", -1), "'target'", "is -1"),
    "huge class": (
        changed(target=np.full(40, 2**64 - 1, np.uint64)),
        "'target'",
        "18446744073709551615",
    ),
    "count": (changed(target=GOOD["target"][1:]), "'target'", "39 samples", "40"),
    "target rank": (changed(target=GOOD["target"][:, None]), "'target'", "rank 2"),
    "no target": (changed(target=None), "no array 'target'"),
    "nan": (with_element("x", np.nan), "'x'", "[3, 0, 0] is nan"),
    "infinity": (with_element("x", -np.inf), "'x'", "-inf"),
    "T = 0": (changed(x=GOOD["x"][:0]), "'x'", "empty"),
    "N = 0": (changed(x=GOOD["x"][:, :0], target=GOOD["target"][:0]), "no samples"),
    "no arrays": ({}, "no arrays"),
}


@pytest.mark.parametrize("command", ["train", "eval", "grad", "val"])
@pytest.mark.parametrize("case", ARRAYS)
def test_invalid_arrays(tmp_path, case, command):
    arrays, *words = ARRAYS[case]
    bad = save(tmp_path / "bad.npz", arrays)
    if command == "train":
        options = ["--save", tmp_path / "o", "--checkpoint", tmp_path / "c", "--log", tmp_path / "l"]
        result = run("train", "--data", bad, *options)
    elif command == "val":
        with_good = save(tmp_path / "good.npz", GOOD)
        result = run("train", "--data", with_good, "--val", bad, "--save", tmp_path / "o")
        with_good.unlink()
    else:
        out = ["--out", tmp_path / "o"] if command == "grad" else []
        result = run(command, "--data", bad, *out)
    refused(result, "bad.npz", *words)
    assert os.listdir(tmp_path) == ["bad.npz"]


# --- files ----------------------------------------------------------------------------------------


def archive(entries, **options):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **options) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return stream.getvalue()


def npy(header, data=b"", magic=b"\x93NUMPY\x01\x00"):
    header = header.encode()
    return magic + len(header).to_bytes(2, "little") + header + data


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': %s}"
ENTRIES = {
    "no header": b"",
    "not npy": b"hello, this is no array",
    "version 9": npy(HEADER % "(1,)", b"1234", b"\x93NUMPY\x09\x00"),
    "no shape": npy("{'descr': '<f4', 'fortran_order': False}", b"1234"),
    "words": npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", b"1234"),
    "open": npy(HEADER % "(1,", b"1234"),
    "negative": npy(HEADER % "(-1,)", b"1234"),
    "too short": npy(HEADER % "(2,)", b"1234"),
    "too long": npy(HEADER % "(1,)", b"12345678"),
    "overflow": npy(HEADER % "(4611686018427387904, 4611686018427387904)", b"1234"),
    "more than there is": npy(HEADER % "(1000000000000,)", b"1234"),
    "huge number": npy(HEADER % "(99999999999999999999999,)", b"1234"),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_invalid_npy_entries(tmp_path, case):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(archive({"x.npy": ENTRIES[case]}))
    refused(run("eval", "--data", bad), "bad.npz", "'x'")


def good_bytes(tmp_path):
    content = save(tmp_path / "good.npz", GOOD).read_bytes()
    (tmp_path / "good.npz").unlink()
    return content


def test_files_that_are_not_archives(tmp_path):
    bad, good = tmp_path / "bad.npz", good_bytes(tmp_path)
    single = io.BytesIO()
    np.save(single, GOOD["x"])
    contents = [b"", b"text\n", good[: len(good) // 2], good[:-1], good[22:], single.getvalue()]
    contents += [archive({}), archive({"readme.txt": b"hello"}), good + good[:1]]
    for content in contents:
        bad.write_bytes(content)
        refused(run("eval", "--data", bad), "bad.npz")
    refused(run("eval", "--data", tmp_path / "absent.npz"), "absent.npz", "No such file")
    bad.unlink()
    refused(run("eval", "--data", tmp_path), "is a directory without .npz files")
    refused(run("eval", "--data", "/dev/zero"), "not a regular file")


def test_line_breaks_in_array_names_are_escaped(tmp_path):
    bad = save(tmp_path / "bad.npz", changed(**{"a\nb\x1b[31m": GOOD["x"], "c" * 500: GOOD["x"]}))
    refused(run("eval", "--data", bad), "a\\x0ab")


def test_wrong_checksum(tmp_path):
    content = bytearray(good_bytes(tmp_path))
    content[content.index(b"\x93NUMPY") + 200] ^= 1
    (tmp_path / "bad.npz").write_bytes(content)
    refused(run("eval", "--data", tmp_path / "bad.npz"), "damaged")


@pytest.mark.parametrize("seed", range(8))
def test_damaged_archives(tmp_path, seed):
    """Archives with random bytes at random places are accepted or refused, but never crash."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    bad, good = tmp_path / "bad.npz", good_bytes(tmp_path)
    directory = good.rindex(b"PK\x01\x02")
    for _ in range(40):
        content = bytearray(good)
        start = int(rng.choice([0, directory - 200, len(good) - 60]))
        for _ in range(rng.integers(1, 6)):
            content[rng.integers(start, len(good))] = rng.integers(256)
        if rng.random() < 0.3:
            content = content[: rng.integers(len(content))]
        if rng.random() < 0.1:
            content = rng.bytes(rng.integers(1, 5000))
        bad.write_bytes(content)
        result = run("eval", "--data", bad)
        if result.returncode != 0:
            refused(result, "bad.npz")


# --- values and outputs ---------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", GOOD)


@pytest.mark.parametrize(
    "option, value",
    [
        ("--lr", "-1"),
        ("--lr", "nan"),
        ("--lr", "inf"),
        ("--batch", "0"),
        ("--batch", "-3"),
        ("--epochs", "0"),
        ("--clip-norm", "0"),
        ("--clip-norm", "nan"),
        ("--weight-decay", "-0.1"),
        ("--beta1", "1"),
        ("--threads", "0"),
        ("--lr-schedule", "frobnicate"),
        ("--lr-schedule", "step:0:0.5"),
        ("--lr-schedule", "cosine,warmup:3"),
        ("--lr-schedule", "warmup:x"),
        ("--scan", "blelloch"),
        ("--resume", "absent"),
    ],
)
def test_invalid_option_values(tmp_path, data, option, value):
    result = run("train", "--data", data, "--save", tmp_path / "o", option, value)
    refused(result, option if value != "absent" else "absent")
    assert os.listdir(tmp_path) == ["data.npz"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["train"],
        ["train", "--data"],
        ["train", "--data", "x", "--frobnicate"],
        ["train", "--data", "x", "--lr", "fast"],
        ["train", "--data", "x", "--epochs", "1.5"],
        ["train", "--data", "x", "--momentum", "0.9"],
        ["train", "--data", "x", "--checkpoint-every", "3"],
        ["grad", "--data", "x"],
        ["grad", "--data", "x", "--out", "y", "--backward", "sideways"],
    ],
)
def test_wrong_usage(arguments):
    result = run(*arguments) if arguments else fake_trainer.harness.run(fake_trainer.program())
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: ")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["frobnicate"], "unknown command 'frobnicate'; the commands are [train, eval, infer,"),
        ([], "a command is needed; the commands are [train, eval, infer, grad, bench, info]"),
        (["--frob"], "unknown option '--frob'; the commands are"),
        (["train", "--dat", "x"], "unknown option '--dat', did you mean '--data'; see train --help"),
        (["info", "now"], "info: unknown argument 'now'; see info --help"),
    ],
)
def test_message_names_unknown_words(arguments, message):
    result = fake_trainer.harness.run(fake_trainer.program(), *arguments)
    assert result.returncode == 2 and message in result.stderr


OUTPUTS = {"train": ["--save", "--checkpoint", "--log"], "infer": ["--out"], "grad": ["--out"]}


@pytest.mark.parametrize("command, option", [(c, o) for c, os in OUTPUTS.items() for o in os])
@pytest.mark.parametrize("place", ["no-such-folder/file", ".", "/proc/file", "data.npz"])
def test_unwritable_outputs(tmp_path, data, command, option, place):
    before = data.read_bytes()
    result = run(command, "--data", data, option, tmp_path / place)
    assert result.stdout == ""  # refused before any training
    refused(result, option)
    assert os.listdir(tmp_path) == ["data.npz"] and data.read_bytes() == before


def test_two_outputs_to_the_same_file(tmp_path, data):
    same = tmp_path / "same"
    for first, second in (("--save", "--checkpoint"), ("--save", "--log")):
        refused(run("train", "--data", data, first, same, second, same), "another option")
    assert os.listdir(tmp_path) == ["data.npz"]


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


@pytest.mark.parametrize("command, option", [(c, o) for c, os in OUTPUTS.items() for o in os])
def test_full_disk_keeps_the_previous_file(tmp_path, data, command, option):
    output = tmp_path / "output"
    if option != "--log":
        output.write_bytes(b"previous")
    epochs = ["--epochs", "50"] if command == "train" else []
    result = run(command, "--data", data, option, output, *epochs, preexec_fn=limit_file_size)
    refused(result, "output", "writing failed")
    if option != "--log":
        assert output.read_bytes() == b"previous"
        assert sorted(os.listdir(tmp_path)) == ["data.npz", "output"]


def test_full_stdout(data):
    with open("/dev/full", "w") as full:
        command = [fake_trainer.program(), "eval", "--data", data]
        result = fake_trainer.subprocess.run(
            command, stdout=full, stderr=fake_trainer.subprocess.PIPE, text=True, check=False
        )
    refused(result, "stdout")


# --- numbers that are not finite ------------------------------------------------------------------


def test_nonfinite_loss(tmp_path):
    data = save(tmp_path / "data.npz", changed(x=np.full_like(GOOD["x"], 3e38)))
    refused(run("train", "--data", data, "--save", tmp_path / "o"), "step 1", "loss is")
    refused(run("eval", "--data", data), "data.npz", "loss")
    refused(run("grad", "--data", data, "--out", tmp_path / "o"), "loss")
    assert os.listdir(tmp_path) == ["data.npz"]


def test_divergence_keeps_the_checkpoint(tmp_path, data):
    checkpoint, log = tmp_path / "c", tmp_path / "log"
    options = ["--checkpoint", checkpoint, "--epochs", 500, "--batch", 40, "--log", log]
    message = refused(
        run("train", "--data", data, *options, "--lr", "3e38"), "epoch ", "step ", "--lr"
    )
    assert f"the checkpoint '{checkpoint}' of epoch " in message and "is kept" in message
    assert checkpoint.exists()
    done = len(log.read_text().splitlines())
    resumed = run("train", "--data", data, "--resume", checkpoint, "--epochs", done)
    assert resumed.returncode == 0, resumed.stderr


def test_nonfinite_gradient(tmp_path):
    arrays = samples(20)
    arrays["x"] = np.full_like(arrays["x"], 1e19)
    arrays["target"] = np.full((20, 4), 1e19, np.float32)
    data = save(tmp_path / "data.npz", arrays)
    result = run("train", "--data", data, trainer="bppsa-fake-trainer-mse")
    refused(result, "step 1", "loss is inf")


def test_unknown_instruction_set(data):
    environment = {**os.environ, "BPPSA_ISA": "x86-64-v9"}
    refused(run("eval", "--data", data, env=environment), "BPPSA_ISA", "x86-64-v9", "x86-64-v2")


@pytest.mark.parametrize("options", [["--scan=a\nb"], ["--mapping=\x1b[1m"], ["--lr=a\nb"], ["--a\nb"]])
def test_line_breaks_in_options_are_escaped(data, options):
    result = run("train", "--data", data, *options)
    assert result.returncode in (1, 2)
    assert result.stderr.count("\n") == 1 and "\x1b" not in result.stderr, result.stderr
