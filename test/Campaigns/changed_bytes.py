"""Random changes to the bytes of a file."""

NUMBERS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def place(source, content):
    """Returns a random position; prefers both ends, which hold the headers."""
    if source.random() < 0.5:
        return source.randrange(len(content))
    edge = source.randrange(min(len(content), 300))
    return source.choice([edge, len(content) - 1 - edge])


def flip_bits(source, content):
    for _ in range(source.choice([1, 1, 2, 5, 30])):
        content[place(source, content)] ^= 1 << source.randrange(8)


def replace_bytes(source, content):
    for _ in range(source.choice([1, 2, 10])):
        content[place(source, content)] = source.choice([0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x27])


def replace_number(source, content):
    width = source.choice([2, 4, 8])
    number = source.choice([*NUMBERS, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]) % (1 << 8 * width)
    at = place(source, content)
    content[at : at + width] = number.to_bytes(width, source.choice(["little", "big"]))


def truncate(source, content):
    del content[place(source, content) :]


def remove_part(source, content):
    at = place(source, content)
    del content[at : at + source.choice([1, 2, 8, 100, 5000])]


def repeat_part(source, content):
    at, size = place(source, content), source.choice([1, 4, 30, 1000])
    content[at:at] = content[at : at + size]


def move_part(source, content):
    at, size = place(source, content), source.choice([4, 30, 1000])
    part = content[at : at + size]
    del content[at : at + size]
    to = source.randrange(len(content) + 1)
    content[to:to] = part


def insert_noise(source, content):
    at = place(source, content)
    content[at:at] = source.randbytes(source.choice([1, 3, 16, 500]))


def clear_part(source, content):
    at, size = place(source, content), source.choice([4, 64, 4096])
    content[at : at + size] = bytes(len(content[at : at + size]))


def append_noise(source, content):
    content += source.randbytes(source.choice([1, 22, 1000]))


def replace_all(source, content):
    content[:] = source.randbytes(source.choice([0, 1, 4, 30, 3000]))


CHANGES = [
    *[flip_bits, replace_bytes, replace_number] * 3,
    *[truncate, remove_part, repeat_part, move_part, insert_noise, clear_part, append_noise],
    replace_all,
]


def change(source, content):
    """Returns `content` with one or a few random changes."""
    content = bytearray(content)
    for _ in range(source.choice([1, 1, 1, 2, 4])):
        if content:
            source.choice(CHANGES)(source, content)
    return bytes(content)
