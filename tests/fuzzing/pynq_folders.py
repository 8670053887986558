"""Folders as BNN-PYNQ's finnthesizer writes them, and its accelerator, both by their definitions: neuron by
neuron, bit by bit, sharing nothing with the reader.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Dense:
    weights: np.ndarray  # bits: neurons, inputs
    thresholds: np.ndarray | None
    simd: int
    pe: int
    bits: int = 1  # with 2, weights are -2 to 1


@dataclass
class Conv:
    weights: np.ndarray  # bits: out channels, in channels, k, k
    thresholds: np.ndarray
    simd: int
    pe: int
    side: int
    pooled: bool = False
    bits: int = 1


@dataclass
class Accelerator:
    layers: list
    outputs: int
    features: int = 0  # of a dense one
    classes: list = field(default_factory=list)

    def write(self, folder: Path, config: bool = True) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["/** Finnthesizer Config-File Generation **/", "#ifndef __LAYER_CONFIG_H_"]
        lines.append("#define __LAYER_CONFIG_H_")
        for number, layer in enumerate(self.layers):
            rows, limits = self.matrix(number)
            sizes = {"SIMD": layer.simd, "PE": layer.pe}
            sizes |= {"WMEM": rows.size // (layer.simd * layer.pe), "TMEM": len(rows) // layer.pe}
            if isinstance(layer, Conv):
                k = layer.weights.shape[2]
                sizes |= {"K": k, "IFM_CH": layer.weights.shape[1], "IFM_DIM": layer.side}
                sizes |= {"OFM_CH": len(layer.weights), "OFM_DIM": layer.side - k + 1}
            else:
                sizes |= {"MW": rows.shape[1], "MH": len(rows)}
            activation = 16 if layer.thresholds is None else np.ndim(layer.thresholds)
            sizes |= {"WPI": layer.bits, "API": activation, "WPF": 0, "APF": 0}
            lines += [f"#define L{number}_{name} {size}" for name, size in sizes.items()]
            self.pack(folder, number, layer, rows, limits)
        if config:
            (folder / "hw").mkdir(exist_ok=True)
            (folder / "hw" / "config.h").write_text("\n".join([*lines, "#endif //__LAYER_CONFIG_H_", ""]))
        if self.classes:
            (folder / "classes.txt").write_text("\n".join(self.classes))
        return folder

    def matrix(self, number):
        """The padded weights, channels innermost, and thresholds: 1 bits and never, as padding."""
        layer = self.layers[number]
        if isinstance(layer, Conv):
            rows = np.array([neuron.transpose(1, 2, 0).reshape(-1) for neuron in layer.weights])
        else:
            rows = layer.weights
        width = rows.shape[1]
        wide = -width % (max(layer.simd, 64) if number == 0 and isinstance(layer, Dense) else layer.simd)
        last = number == len(self.layers) - 1
        high = -len(rows) % (max(layer.pe, 64) if last else layer.pe)
        rows = np.pad(rows, ((0, high), (0, wide)), constant_values=1 if layer.bits == 1 else 0)
        if layer.thresholds is None:
            return rows, None
        limits = np.array(layer.thresholds)
        if number == 0 and limits.ndim == 2 and isinstance(layer, Dense):
            limits = limits - wide  # padding adds -1 for each of its inputs
        return rows, np.pad(limits, ((0, high), (0, 0))[: limits.ndim], constant_values=32767)

    def pack(self, folder, number, layer, rows, limits):
        for pe in range(layer.pe):
            words, mine = b"", b""
            for neuron in range(pe, len(rows), layer.pe):
                for start in range(0, rows.shape[1], layer.simd):
                    codes = rows[neuron, start : start + layer.simd] % 2**layer.bits
                    word = sum(int(code) << layer.bits * i for i, code in enumerate(codes))
                    words += word.to_bytes(8, "little")
                if limits is not None:
                    for limit in np.atleast_1d(limits[neuron]):
                        mine += int(limit).to_bytes(8, "little", signed=True)
            (folder / f"{number}-{pe}-weights.bin").write_bytes(words)
            if limits is not None:
                (folder / f"{number}-{pe}-thres.bin").write_bytes(mine)

    # -- the accelerator ---------------------------------------------------------------------------------

    def last(self, pixels):
        """The match counts of the last layer, and which are above their threshold."""
        if isinstance(self.layers[0], Conv):
            x = [[[quantized(int(p)) for p in row] for row in plane] for plane in np.asarray(pixels)]
        else:
            x = [int(2 * int(p) - 255 >= 0) for p in np.asarray(pixels).reshape(-1)]
        wide = False  # whether values are -1, 0, 1
        for number, layer in enumerate(self.layers):
            if isinstance(layer, Conv):
                x = convolved(layer, x, first=number == 0, wide=wide)
                wide = np.ndim(layer.thresholds) == 2
                if layer.pooled:
                    x = pooled(x)
                if not isinstance(self.layers[number + 1], Conv):  # channels innermost
                    side = range(len(x[0]))
                    x = [x[c][i][j] for i in side for j in side for c in range(len(x))]
                continue
            if wide or layer.bits == 2 or np.ndim(layer.thresholds) == 2:
                values = x if wide else [2 * bit - 1 for bit in x]
                counts = [
                    sum(weight_of(w, layer.bits) * v for w, v in zip(row, values, strict=True))
                    for row in layer.weights
                ]
            else:
                counts = [sum(int(w) == bit for w, bit in zip(row, x, strict=True)) for row in layer.weights]
            if number == len(self.layers) - 1:
                above = (
                    [c > t for c, t in zip(counts, layer.thresholds, strict=True)]
                    if (layer.thresholds is not None)
                    else None
                )
                return counts, above
            wide = np.ndim(layer.thresholds) == 2
            x = [value_of(c, t) for c, t in zip(counts, layer.thresholds, strict=True)]
        raise AssertionError

    def highest_bit(self, pixels):
        """What the driver of a dense design answers."""
        word = sum(int(on) << place for place, on in enumerate(self.last(pixels)[1]))
        return max(word.bit_length() - 1, 0)


def weight_of(code, bits):
    return int(code) if bits == 2 else 2 * int(code) - 1


def value_of(total, limits):
    """A bit for one threshold; -1, 0 or 1 for two."""
    if np.ndim(limits):
        return -1 + sum(int(total > limit) for limit in limits)
    return int(total > limits)


def quantized(pixel):
    """ap_fixed<8, 1, AP_RND, AP_SAT> of 2 x / 255 - 1, as a whole number of 1/128."""
    numerator = (2 * pixel - 255) * 128 * 2 + 255  # floor(v * 128 + 1/2) over 2 * 255
    return min(numerator // (2 * 255), 127)


def convolved(layer, x, first, wide=False):
    k, side = layer.weights.shape[2], layer.side - layer.weights.shape[2] + 1
    out = []
    for kernel, limit in zip(layer.weights, layer.thresholds, strict=True):
        plane = [[0] * side for _ in range(side)]
        for i in range(side):
            for j in range(side):
                total = 0
                for c in range(len(x)):
                    for a in range(k):
                        for b in range(k):
                            weight, value = int(kernel[c, a, b]), x[c][i + a][j + b]
                            if first or wide:
                                total += weight_of(weight, layer.bits) * value
                            else:
                                total += int(weight == value)
                # the first layer: q / 128 summed, above threshold / 256
                plane[i][j] = value_of(2 * total if first else total, limit)
        out.append(plane)
    return out


def pooled(x):
    side = range(len(x[0]) // 2)
    return [
        [
            [
                max(p[2 * i][2 * j], p[2 * i + 1][2 * j], p[2 * i][2 * j + 1], p[2 * i + 1][2 * j + 1])
                for j in side
            ]
            for i in side
        ]
        for p in x
    ]


def random_dense(random, features=70, sizes=(12, 9), outputs=5, bits=True):
    layers, width = [], features
    for size in (*sizes, outputs):
        last = len(layers) == len(sizes)
        limits = random.integers(width // 2 - 3, width // 2 + 3, size)
        limits[0] = [-5, width + 7][int(random.integers(2))]
        simd = int(random.choice([d for d in range(1, 65) if width % d == 0])) if layers else 32
        pe = int(random.choice([d for d in range(1, 65) if (64 if last else size) % d == 0]))
        weights = random.integers(0, 2, (size, width))
        layers.append(Dense(weights, None if last and not bits else limits, simd, pe))
        width = size
    return Accelerator(layers, outputs, features, [f"class {k}" for k in range(outputs)])


def random_conv(random, side=9, channels=(3, 4, 6), sizes=(8,), outputs=4):
    layers, here = [], side
    for number, out in enumerate(channels[1:]):
        weights = random.integers(0, 2, (out, channels[number], 3, 3))
        fan = weights[0].size
        limits = (
            random.integers(-2000, 2000, out)
            if number == 0
            else random.integers(fan // 2 - 4, fan // 2 + 4, out)
        )
        simd = int(random.choice([d for d in range(1, channels[number] + 1) if fan % d == 0]))
        pe = int(random.choice([d for d in range(1, out + 1) if out % d == 0]))
        after = here - 2
        layers.append(Conv(weights, limits, simd, pe, here, pooled=after % 2 == 0 and number == 1))
        here = after // 2 if layers[-1].pooled else after
    width = here * here * channels[-1]
    for size in (*sizes, outputs):
        last = len(layers) - len(channels) + 1 == len(sizes)
        limits = None if last else random.integers(width // 2 - 3, width // 2 + 3, size)
        simd = int(random.choice([d for d in range(1, 65) if width % d == 0]))
        layers.append(Dense(random.integers(0, 2, (size, width)), limits, simd, 1))
        width = size
    return Accelerator(layers, outputs, 0, [f"class {k}" for k in range(outputs)])


def wider(random, made, bits=1):
    """An accelerator of the same sizes with 2-bit activations, and weights of some bits."""
    for number, layer in enumerate(made.layers):
        if bits == 2:
            layer.bits, layer.weights = 2, random.integers(-2, 2, layer.weights.shape)
            layer.simd = max(d for d in range(1, 33) if layer.simd % d == 0)
        if number == len(made.layers) - 1:
            if layer.thresholds is not None:
                layer.thresholds = random.integers(-4, 4, len(layer.weights))
            break
        size = 2000 if number == 0 and isinstance(layer, Conv) else 4
        layer.thresholds = random.integers(-size, size, (len(layer.weights), 2))
    return made
