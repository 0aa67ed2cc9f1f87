"""Expected buffers of a quantizer, from whole matrices: numpy's reshapes and transposes, no index formulas."""

import numpy as np

F32 = np.float32
CANARY = 0xA5


def ceil_div(a, b):
    return -(-a // b)


def up(a, b):
    return ceil_div(a, b) * b


def canaries(shape, kind):
    return np.full(int(np.prod(shape)) * np.dtype(kind).itemsize, CANARY, np.uint8).view(kind).reshape(shape)


def padded(matrix, rows, columns, fill=0):
    result = np.full((rows, columns), fill, matrix.dtype)
    result[: matrix.shape[0], : matrix.shape[1]] = matrix
    return result


def block_amax(x, rows, columns):
    """Largest magnitude of each block of rows x columns; NaN counts as nothing."""
    magnitude = np.where(np.isnan(x), F32(0), np.abs(x))
    down, across = ceil_div(x.shape[0], rows), ceil_div(x.shape[1], columns)
    return padded(magnitude, down * rows, across * columns).reshape(down, rows, across, columns).max(axis=(1, 3))


def spread(per_block, rows, columns, shape):
    return np.repeat(np.repeat(per_block, rows, axis=0), columns, axis=1)[: shape[0], : shape[1]]


def tiles(matrix):
    """128 x 4 tiles of a matrix of bytes, each as 32 x 4 x 4."""
    full = padded(matrix, up(matrix.shape[0], 128), up(matrix.shape[1], 4))
    a, b = full.shape[0] // 128, full.shape[1] // 4
    return full.reshape(a, 4, 32, b, 4).transpose(0, 3, 2, 1, 4).reshape(-1)


class Groups:
    """Where groups lie. `extent` is max_m of masked, `count` the rows that exist."""

    def __init__(self, layout, sizes, capacity, align=1, m=0):
        self.layout, self.count = layout, list(sizes)
        self.extent = [m] * len(sizes) if layout == "masked" else list(sizes)
        self.rows = m * len(sizes) if layout == "masked" else sum(sizes) if layout == "uniform" else capacity
        self.begin, at = [], 0
        for g, size in enumerate(sizes):
            at = g * m if layout == "masked" else up(at, align)
            self.begin.append(at)
            at += size

    def __len__(self):
        return len(self.count)

    def most_blocks(self, unit):
        if self.layout in ("masked", "uniform"):
            return sum(ceil_div(e, unit) for e in self.extent)
        return ceil_div(self.rows, unit) + len(self)

    def of_rows(self, matrix):
        """The groups' rows, and the same with rows of zeros up to the extent."""
        parts = [matrix[b : b + c] for b, c in zip(self.begin, self.count)]
        return parts, [padded(p, e, p.shape[1]) for p, e in zip(parts, self.extent)]


def rowwise_data(groups, parts):
    data = canaries((groups.rows, parts[0].shape[1]), np.uint8)
    for begin, part in zip(groups.begin, parts):
        data[begin : begin + len(part)] = part
    return data


def columnwise_data(groups, parts):
    """parts: of the whole extent."""
    columns = parts[0].shape[1]
    if groups.layout == "uniform":
        return np.stack([p.T for p in parts])
    data = canaries((columns, up(groups.rows, 128) + 128 * len(groups)), np.uint8)
    at = 0
    for part in parts:
        width = up(len(part), 128)
        data[:, at : at + width] = padded(part.T, columns, width)
        at += width
    return data


def fill(size, kind, parts):
    """A buffer of `size` elements that begins with these arrays, end to end."""
    buffer = canaries((size,), kind)
    at = 0
    for part in parts:
        buffer[at : at + part.size] = part.reshape(-1)
        at += part.size
    return buffer


def rowwise_scales(groups, layout, parts):
    """parts: per group one row of scales per row or block of rows."""
    across = parts[0].shape[1]
    if layout == "mn_major" and groups.layout == "masked":
        m = groups.extent[0]
        sf = canaries((len(groups), across, up(m, 4)), F32)
        for g, part in enumerate(parts):
            sf[g, :, : len(part)] = part.T
        sf[:, :, m:] = 1
        return sf
    if layout in ("mn_major", "per_row"):
        sf = canaries((across, up(groups.rows, 4)), F32)
        for begin, part in zip(groups.begin, parts):
            sf[:, begin : begin + len(part)] = part.T
        sf[:, groups.rows :] = 1
        return sf
    if layout in ("k_major", "mx_compact"):
        kind, wide = (F32, across) if layout == "k_major" else (np.uint8, up(across, 4))
        sf = canaries((groups.rows, wide), kind)
        for begin, part in zip(groups.begin, parts):
            sf[begin : begin + len(part)] = padded(part, len(part), wide)
        return sf
    if layout == "swizzled":
        size = groups.most_blocks(128) * 128 * up(across, 4)
        return fill(size, np.uint8, [tiles(padded(p, e, across)) for p, e in zip(parts, groups.extent)])
    if layout == "per_group":
        return np.concatenate(parts)
    if layout in ("block2d_t", "mx_32x32"):
        return np.stack([p.T if layout == "block2d_t" else p for p in parts])
    assert layout == "block2d"
    sf = canaries((groups.most_blocks(128), across), F32)
    at = 0
    for part, extent in zip(parts, groups.extent):
        sf[at : at + len(part)] = part
        at += ceil_div(extent, 128)
    return sf


def columnwise_scales(groups, layout, parts):
    """parts: per group, of the whole extent."""
    columns = parts[0].shape[1]
    if layout in ("mn_major", "k_major"):
        return fill(
            groups.most_blocks(128) * up(columns, 4), F32, [padded(p, len(p), up(columns, 4), 1) for p in parts]
        )
    if layout == "mx_compact":
        wide = up(columns, 128)
        return fill(groups.most_blocks(32) * wide, np.uint8, [padded(p, len(p), wide) for p in parts])
    if layout == "swizzled":
        return fill(groups.most_blocks(128) * up(columns, 128) * 4, np.uint8, [tiles(p.T) for p in parts])
    if layout in ("per_group", "per_row"):
        return np.concatenate(parts)
    if groups.layout == "uniform":
        return np.stack([p if layout == "block2d_t" else p.T for p in parts])
    return fill(groups.most_blocks(128) * columns, F32, parts)
