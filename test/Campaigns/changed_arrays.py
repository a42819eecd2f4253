"""Changed .npz files as data of compiled programs: bytes, archives, headers, types, values."""

import io
import struct
import zipfile
import zlib

import changed_bytes
import numpy as np
from campaign import Campaign, check_end, check_files, execute

HUGE = [
    0,
    1,
    2,
    3,
    7,
    2**31 - 1,
    2**31,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    2**64,
    10**30,
    -1,
    -(2**63),
]
TYPES = ["<f4", "<f8", "<f2", ">f4", "<i8", "<i4", "<i2", "|i1", "<u8", "|u1", "|b1", "<c8", "<U3"]
VALUES = [np.nan, np.inf, -np.inf, 1e-40, 3e38, -3e38, 0.0, -0.0, 1e30]
HEADER_PARTS = [
    "'descr'",
    "'shape'",
    "'fortran_order'",
    "False",
    "True",
    "(",
    ")",
    ",",
    "{",
    "}",
    " ",
]


# --- values, types and shapes ---


def change_values(source, arrays):
    name = source.choice(sorted(arrays))
    array = arrays[name] = arrays[name].copy()
    for _ in range(source.choice([1, 1, 3, array.size]) if array.size else 0):
        at = source.randrange(array.size)
        if array.dtype.kind not in "iu":
            array.flat[at] = source.choice(VALUES)
        else:
            info = np.iinfo(array.dtype)
            small = [number for number in range(-1, 13) if number >= info.min]
            array.flat[at] = source.choice([info.min, info.max, *small])


def change_type(source, arrays):
    name = source.choice(sorted(arrays))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(source.choice(TYPES))


def change_shape(source, arrays):
    name = source.choice(sorted(arrays))
    array = arrays[name]
    axis = source.randrange(array.ndim) if array.ndim else 0
    change = source.choice(
        ["transpose", "drop", "add", "cut", "repeat", "flatten", "scalar", "empty"]
    )
    if change == "transpose":
        array = np.ascontiguousarray(array.T)
    elif change == "drop" and array.ndim:
        array = np.take(array, 0, axis)
    elif change == "cut" and array.ndim:
        array = np.take(array, range(source.randrange(array.shape[axis] + 1)), axis)
    elif change == "repeat" and array.ndim:
        array = np.repeat(array, source.choice([2, 3, 100]), axis)
    elif change == "flatten":
        array = array.ravel()
    elif change == "scalar":
        array = np.zeros((), array.dtype)
    elif change == "empty":
        array = np.zeros((0,) * source.randrange(1, 5), array.dtype)
    else:
        array = np.expand_dims(array, axis)
    arrays[name] = np.asarray(array)


def change_order(source, arrays):
    for name in arrays:
        if source.random() < 0.7:
            arrays[name] = np.asfortranarray(arrays[name])


def change_names(source, arrays):
    name = source.choice(sorted(arrays))
    other = source.choice(
        [name.upper(), name + " ", "", "a/b", "../x", "x" * 60000, "é\n\x1b[1m", "weight"]
    )
    arrays[other] = arrays[name]
    if source.random() < 0.6:
        del arrays[name]


def change_samples(source, arrays):
    """Changes the number of samples of all arrays to the same count."""
    count = source.choice([0, 1, 2, 33, 300])
    for name, array in arrays.items():
        for axis, size in enumerate(array.shape):
            if size == 24:
                array = np.take(array, range(count), axis, mode="wrap")
        arrays[name] = array


def add_weights(source, arrays):
    shape = arrays[source.choice(sorted(arrays))].shape
    values = [0, 1, -1, np.nan, 1e30, 1e-30]
    arrays["weight"] = np.full(shape, source.choice(values), np.float32)


VALUE_CHANGES = [change_values, change_values, change_type, change_shape]
VALUE_CHANGES += [change_order, change_names, change_samples, add_weights]


# --- entries and archives ---


def entry(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array))
    return stream.getvalue()


def random_header(source, array):
    """Returns the text of a header, correct or nearly correct."""
    shape = list(array.shape)
    if source.random() < 0.6:
        numbers = [source.choice(HUGE) for _ in range(source.choice([0, 1, 1, 2, 5, 60]))]
        shape = source.choice([numbers, shape[:-1] + numbers, [source.choice(HUGE), *shape[1:]]])
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    kind = source.choice([array.dtype.str, array.dtype.str, source.choice(TYPES), "|V8", "|O", ""])
    order = source.choice(["False", "False", "True", "0", "None"])
    text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({dims}), }}"
    if source.random() < 0.4:
        at = source.randrange(len(text))
        cut = source.choice([0, 1, 5])
        text = text[:at] + source.choice([*HEADER_PARTS, "\0", "\n", "é", "'"]) + text[at + cut :]
    return text


def random_entry(source, array):
    """Returns an array as .npy with a random header, possibly of the wrong length."""
    header = random_header(source, array).encode()
    if source.random() < 0.7:
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
    version = source.choice([(1, 0)] * 6 + [(2, 0), (3, 0), (9, 9), (0, 0)])
    size = source.choice([len(header)] * 8 + [0, 1, 65535, 2**32 - 1])
    width = 2 if version == (1, 0) else 4
    length = (size % (1 << 8 * width)).to_bytes(width, "little")
    data = array.tobytes()
    data = source.choice([data, data, data, data[:-1], data + b"x", b"", data * 3])
    return b"\x93NUMPY" + bytes(version) + length + header + data


def write_archive(source, entries):
    """Returns a zip file of entries; some are compressed, duplicated, or have unusual names."""
    stream = io.BytesIO()
    methods = [zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED] * 3 + [zipfile.ZIP_BZIP2]
    with zipfile.ZipFile(stream, "w", allowZip64=True) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = source.choice(methods)
            if source.random() < 0.05:
                info.comment = source.randbytes(30)
            with archive.open(info, "w", force_zip64=source.random() < 0.2) as file:
                file.write(content)
        if source.random() < 0.1:
            archive.comment = source.choice([b"PK\x05\x06" * 8, b"x" * 65535])
    return stream.getvalue()


def change_entries(source, arrays):
    entries = [(f"{name}.npy", entry(array)) for name, array in arrays.items()]
    for _ in range(source.choice([1, 1, 2])):
        at = source.randrange(len(entries))
        name, content = entries[at]
        change = source.choice(["header", "header", "header", "bytes", "double", "name", "bomb"])
        if change == "header":
            array = arrays.get(name.removesuffix(".npy"), np.zeros(3, np.float32))
            content = random_entry(source, array)
        elif change == "bytes":
            content = changed_bytes.change(source, content)
        elif change == "double":
            entries.append((name, content))
        elif change == "name":
            name = source.choice(
                ["", "/", "x.npy/", "x", "..", "x.NPY", "é.npy", "\\x.npy", "target.npy"]
            )
        else:
            content += bytes(source.choice([10**6, 3 * 10**7]))
        entries[at] = (name, content)
    return write_archive(source, entries)


def change_directory(source, content):
    """Sets fields of zip records to extremes: sizes, offsets, methods, flags, counts."""
    content = bytearray(content)
    records = []
    for magic, fields in (
        (
            b"PK\x01\x02",
            [(6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)],
        ),
        (b"PK\x03\x04", [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]),
        (b"PK\x05\x06", [(8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]),
    ):
        at = content.find(magic)
        while at >= 0:
            records += [(at + offset, width) for offset, width in fields]
            at = content.find(magic, at + 1)
    for _ in range(source.choice([1, 1, 2, 4])):
        at, width = source.choice(records)
        number = int.from_bytes(content[at : at + width], "little")
        wanted = source.choice(
            [0, 1, 8, number + 1, number - 1, number * 2, *changed_bytes.NUMBERS]
        )
        content[at : at + width] = struct.pack("<Q", wanted % (1 << 8 * width))[:width]
    return bytes(content)


def save(arrays):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            # Entries have no time, so that equal arrays have equal bytes.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), entry(array))
    return stream.getvalue()


def change(source, arrays):
    """Returns the bytes of a changed data set."""
    arrays = dict(arrays)
    level = source.choice(["values", "values", "entries", "entries", "directory", "bytes", "bytes"])
    if level == "values":
        for _ in range(source.choice([1, 1, 2, 3])):
            if arrays:
                source.choice(VALUE_CHANGES)(source, arrays)
        return save(arrays)
    if level == "entries":
        return change_entries(source, arrays)
    if level == "directory":
        return change_directory(source, save(arrays))
    return changed_bytes.change(source, save(arrays))


def is_damaged(path):
    """Returns whether the content of a zip entry differs from its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                archive.read(info)
    except zipfile.BadZipFile as error:
        return "Bad CRC" in str(error)
    except (
        OSError,
        zlib.error,
        NotImplementedError,
        ValueError,
        RuntimeError,
        EOFError,
        struct.error,
    ):
        pass
    return False


# --- the campaign ---


# By command: its options and the files it writes.
COMMANDS = {
    "train": (["--save", "s.onnx", "--checkpoint", "c", "--log", "l"], ["c", "l", "s.onnx"]),
    "blocks": (["--shuffle-memory", "2K", "--checkpoint", "c"], ["c"]),
    "val": (["--save-best", "s.onnx"], ["s.onnx"]),
    "eval": ([], []),
    "infer": (["--out", "y.npz"], ["y.npz"]),
    "grad": (["--out", "y.npz"], ["y.npz"]),
}
TRAINING = ["--epochs", 2, "--batch", 8, "--quiet"]


def make_command(source, program, folder):
    """Returns a command on the data set `bad.npz`, and the files it writes."""
    word = source.choice(sorted(COMMANDS))
    options, outputs = COMMANDS[word]
    if word == "val":
        (folder / "good.npz").write_bytes(save(program.arrays))
        data = ["train", *TRAINING, "--data", "good.npz", "--val", "bad.npz"]
    elif word in ("train", "blocks"):
        data = ["train", *TRAINING, "--data", "bad.npz"]
    else:
        data = [word, "--data", "bad.npz"]
    return [program.path, *data, *options], outputs


def check_arrays(run, path):
    """Faults unless all arrays of an output file are finite."""
    with np.load(path) as archive:
        for name in archive.files:
            if not np.all(np.isfinite(archive[name])):
                run.fail(f"status 0, but array {name} of {path.name} is not finite")


class ChangedArrays(Campaign):
    """Changed .npz files as data of all commands of compiled programs."""

    name = "arrays"
    count, short = 6500, 40

    def run(self, source, folder):
        program = self.programs.choose(source)
        (folder / "bad.npz").write_bytes(change(source, program.arrays))
        inputs = ["bad.npz"]
        if source.random() < 0.1:
            # Makes it a shard of a directory, next to a valid shard.
            (folder / "bad").mkdir()
            (folder / "bad.npz").rename(folder / "bad" / "1.npz")
            (folder / "bad" / "0.npz").write_bytes(save(program.arrays))
            (folder / "bad").rename(folder / "bad.npz")
        command, outputs = make_command(source, program, folder)
        inputs += ["good.npz"] if "good.npz" in command else []
        run = execute(folder, command, self.limit)
        check_end(run, accepted=(0, 1))
        if run.status == 0:
            check_files(run, folder, [*inputs, *outputs])
            if "y.npz" in outputs:
                check_arrays(run, folder / "y.npz")
            if (
                command[1] in ("train", "eval", "grad")
                and "2K" not in command
                and is_damaged(folder / "bad.npz")
            ):
                run.fail("accepts an archive with a wrong checksum")
        else:
            check_files(run, folder, inputs, optional=["c", "l"] if run.diverged() else [])
        return f"status {run.status}"
