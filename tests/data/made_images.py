"""IDX files in memory."""

import struct


def idx(array):
    return struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
