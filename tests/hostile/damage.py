"""Damaged copies of valid files: bits flipped, ends cut off, blocks doubled, moved or replaced by hostile tokens."""

from hypothesis import strategies as st

# What damages the structure of one format or another, or is a number only to a lenient reader.
TOKENS = (
    b"nan", b"-inf", b"Infinity", b"1e400", b"-1e-400", b"9" * 400, b"1" * 5000, b"0x1", b"1_000", b"1e", b"--1",
    b"+", b"-0", b"\xef\xbc\x91", b"\xd9\xa1", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\xc2\xa0",
    b"\xc2\x85", b"\x00", b"\x1b[31m", b"\x1a", b"\x0b", b"\x0c", b"\x1c", b"\r", b"\r\n", b"\n", b"\n\n", b" ",
    b"\t", b",", b";", b":", b",,", b'"', b'""', b"'", b"#", b"qid:1", b"0:1", b"1:1", b"1.0:1", b"2147483647:1",
    b"2147483648:1", b"18446744073709551617:1", b"0", b"-1", b"x", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"?", b"1d5", b"1 2",
)  # fmt: skip


@st.composite
def damaged(draw, whole, most=4):
    """Draw a file that differs from a valid one in up to ``most`` places; ``whole`` is its content."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, most))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.integers(0, 12)))
        kind = draw(st.sampled_from(("token", "bit", "token", "cut", "drop", "double", "move", "noise")))
        if kind == "token":
            content[at:end] = draw(st.sampled_from(TOKENS))
        elif kind == "bit" and at < len(content):
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del content[at:]
        elif kind == "drop":
            del content[at:end]
        elif kind == "double":
            content[at:at] = content[at:end] * draw(st.integers(1, 3))
        elif kind == "move":
            block = content[at:end]
            del content[at:end]
            to = draw(st.integers(0, len(content)))
            content[to:to] = block
        elif kind == "noise":
            content[at:end] = draw(st.binary(max_size=12))
    return bytes(content)
