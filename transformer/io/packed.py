"""Tells packed files from text, by their first bytes and whatever their names."""

import re

# What unpacks each kind, and how a file of it begins. A text could begin with BZh, so of bzip2 more is looked at.
KINDS = {
    "gzip": ("gunzip", re.compile(rb"\x1f\x8b")),
    "xz": ("unxz", re.compile(rb"\xfd7zXZ\0")),
    "bzip2": ("bunzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")),
    "zstd": ("unzstd", re.compile(rb"\x28\xb5\x2f\xfd")),
    "lz4": ("unlz4", re.compile(rb"\x04\x22\x4d\x18")),
    "compress": ("uncompress", re.compile(rb"\x1f\x9d")),
    "zip": ("unzip", re.compile(rb"PK\x03\x04")),
    "7z": ("7z x", re.compile(rb"7z\xbc\xaf\x27\x1c")),
}
ENOUGH = 10  # bytes, to tell them


def packed_with(start: bytes) -> str | None:
    """The kind of which a file is that starts so, as KINDS names them; None for any other, such as text."""
    return next((kind for kind, (_, magic) in KINDS.items() if magic.match(start)), None)
