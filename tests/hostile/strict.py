"""Valid files of the formats of users' files, and slow strict readers that share no code with `budgetrun.data.formats`.

A reader here takes the contents of some files and returns rows of features and labels, or raises a ValueError.
"""

import ast
import csv as csv_module
import io
import math
import re
import struct
import zipfile

import numpy as np
from data.made_files import npz as npz_file

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def number(token):
    if not NUMBER.fullmatch(token) or not math.isfinite(float(token)):
        raise ValueError(token)
    return float(token)


def lines_of(content):
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    return content.removesuffix(b"\n").split(b"\n")


def csv(files):
    rows, labels = [], []
    for content in files:
        lines = [line for line in lines_of(content) if line.strip(b" ")]
        first = [re.sub(rb'"[^"]*"', b"", line) for line in lines[:20]]
        marks = (b";", b"\t", b",", b"|")
        even = [mark for mark in marks if len({line.count(mark) for line in first}) == 1 and mark in first[0]]
        separator = next((mark for mark in [*even, *marks] if mark in (first[1:2] or first)[0]), b" ")

        def fields(line, separator=separator):
            if separator == b" ":
                return [field.strip(b'"') for field in line.split(b" ") if field]
            found = next(csv_module.reader([line.decode()], delimiter=separator.decode(), skipinitialspace=True))
            return [field.strip(" \t").encode() for field in found]

        try:
            table = [[number(field) for field in fields(line)] for line in lines]
        except ValueError:
            # The first line must be a header.
            table = [[number(field) for field in fields(line)] for line in lines[1:]]
        rows += [row[1:] for row in table]
        labels += [row[0] for row in table]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ValueError("widths")
    return rows, labels


def libsvm(files):
    sparse, labels = [], []
    for line in (line for content in files for line in lines_of(content)):
        label, *pairs = re.split(rb"[ \t]+", line.rstrip(b" \t"))
        labels.append(number(label))
        row = {}
        for pair in pairs:
            index, _, value = pair.partition(b":")
            if not re.fullmatch(rb"[0-9]+", index) or int(index) <= max(row, default=-1):
                raise ValueError(pair)
            row[int(index)] = number(value)
        sparse.append(row)
    if not any(0 in row for row in sparse):
        sparse = [{index - 1: value for index, value in row.items()} for row in sparse]
    width = max([1, *(index + 1 for row in sparse for index in row)])
    # Features that no row has are left out, so that an index of two billion is no list of so many zeros.
    used = sorted({index for row in sparse for index in row if row[index]})
    return {"width": width, "used": used, "rows": [[r.get(at, 0.0) for at in used] for r in sparse]}, labels


def npy(content):
    if content[:6] != b"\x93NUMPY" or content[6] not in (1, 2, 3):
        raise ValueError("magic")
    kind, start = ("<H", 10) if content[6] == 1 else ("<I", 12)
    (size,) = struct.unpack_from(kind, content, 8)
    header = ast.literal_eval(content[start : start + size].decode("latin-1").strip())
    kind, shape = np.dtype(header["descr"]), header["shape"]
    body = content[start + size :]
    if kind.hasobject or kind.itemsize * math.prod(shape) != len(body):
        raise ValueError("size")
    return np.frombuffer(body, kind).reshape(shape, order="F" if header["fortran_order"] else "C")


def npz(files):
    rows, labels = [], []
    for content in files:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            arrays = {name: npy(archive.read(f"{name}.npy")) for name in names}
        y = [float(value) for value in arrays["y"]]
        if "X" in arrays:
            X = arrays["X"].astype(float).tolist()
        else:
            n, d = (int(size) for size in arrays["shape"])
            X = [[0.0] * d for _ in range(n)]
            for at in range(n):
                for k in range(int(arrays["indptr"][at]), int(arrays["indptr"][at + 1])):
                    X[at][int(arrays["indices"][k])] = float(arrays["data"][k])
        if len(X) != len(y):
            raise ValueError("lengths")
        rows += X
        labels += y
    return rows, labels


_TABLE = b"y,a,b\n1,0.5,-2\n-1,1e-3,.5\n1,7.,+3\n"
_LIBSVM = b"1 1:0.5 3:-2e-1\n-1\n1.0\t2:.25  3:0\n-1 4:7.\n"
_CSR = {
    name: np.array(value)
    for name, value in {"data": [1.5, 2], "indices": [2, 0], "indptr": [0, 1, 2], "shape": [2, 3]}.items()
}
# Of each format: valid contents of files that are read together.
VALID = {
    "csv": [(_TABLE,), (b"1 0.5 -2\n-1  1e-3 .5 \n1 7. +3\n",), (b"1;2\r\n-1;3\r\n",), (b"1,2,3\n", b"-1,5,6\n")],
    "libsvm": [(_LIBSVM,), (b"+1 70:1 90:2\n-1\n+1 3:1\n",), (b"1 3:2\n", b"-1 3:1\n")],
    "npz": [
        (npz_file(X=np.array([[0.0, 1.5], [2, 0]]), y=np.array([1, -1])),),
        (npz_file(X=np.array([[0, 1], [2, 0]], np.float32, order="F"), y=np.array([True, False])),),
        (npz_file(**_CSR, format=np.array(b"csr"), y=np.array([0.0, 1.0])),),
    ],
}
READERS = {name: globals()[name] for name in VALID}
