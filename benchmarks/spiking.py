"""A latency-coded network 784-20-10 over 5 steps, trained here, unrolled exactly: can shifts of single input
spikes by one step, or by two steps in all, change its class?

Trained with a surrogate gradient on the zoo's MNIST images where SUGENET_ZOO is set, else on the digits of
scikit-learn scaled up to 28x28; weights rounded to multiples of 1/64, so that sums are integers of 31
bits. Convention: leak 9/10, reset by subtraction at the next step after leak and input, as snnTorch's default
is, ``>``; the class is the neuron that spikes first. A pixel spikes the earlier the brighter it is, a dark
one not at all; no spike appears or vanishes.

`mismatches` compares the unrolled network with a plain simulation in float64 on many samples. Needs torch.

Run: python -m benchmarks.spiking [--quick]
"""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from statistics import median

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.spiking import Convention, SpikingLayer, SpikingNetwork, keeping_spikes, simulate_floats, unroll

STEPS, HIDDEN, GRID = 5, 20, 64
CONVENTION = Convention(
    steps=STEPS,
    reset="subtract",
    when="after the input",
    fires=">",
    code="latency",
    decision="first spike",
    ties="lowest",
    step=None,
)


def images() -> tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Flat images of 784 values in 0..1 to train on and to ask about, with their labels."""
    zoo = _zoo.folder()
    if zoo is not None:
        X, y = (
            _zoo._idx(zoo / "mnist/train-images-idx3-ubyte.gz"),
            _zoo._idx(zoo / "mnist/train-labels-idx1-ubyte.gz"),
        )
        test, labels = _zoo.mnist(zoo)
        return "MNIST", X.reshape(-1, 784)[:5000] / 255, y[:5000], test / 255, labels
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    wide = np.kron(X.reshape(-1, 8, 8) / 16, np.ones((1, 3, 3)))  # 24x24
    padded = np.pad(wide, ((0, 0), (2, 2), (2, 2))).reshape(-1, 784)
    return "digits, scaled up", padded[:1300], y[:1300], padded[1300:], y[1300:]


def times_of(X: np.ndarray) -> np.ndarray:
    """The brighter, the earlier; dark pixels do not spike."""
    return np.where(X < 0.2, STEPS, np.floor((1 - X) * STEPS).clip(0, STEPS - 1)).astype(np.int64)


def trained(X: np.ndarray, y: np.ndarray, seed: int = 0) -> SpikingNetwork:
    """Train with a surrogate gradient, then round the weights to the grid."""
    import torch

    torch.manual_seed(seed)
    first, second = torch.nn.Linear(784, HIDDEN), torch.nn.Linear(HIDDEN, 10)
    for layer in (first, second):
        torch.nn.init.zeros_(layer.bias)
        layer.bias.requires_grad_(False)
    times = torch.tensor(times_of(X))
    labels = torch.tensor(y.astype(np.int64))
    optimizer = torch.optim.Adam([first.weight, second.weight], 5e-3)
    torch.set_num_threads(1)
    for _ in range(3 if len(X) > 4000 else 8):
        for part in torch.randperm(len(X)).split(128):
            potentials = []
            one, two = torch.zeros(len(part), HIDDEN), torch.zeros(len(part), 10)
            spike = torch.zeros_like(one)
            for t in range(STEPS):
                one = 0.9 * one + first((times[part] == t).float()) - spike.detach()
                soft = torch.sigmoid(5 * (one - 1))
                spike = (one > 1).float() + soft - soft.detach()
                two = 0.9 * two + second(spike)
                potentials.append(two)
            # early potentials count more: the first to reach the threshold wins
            score = sum(p * (STEPS - t) for t, p in enumerate(potentials)) / STEPS
            loss = torch.nn.functional.cross_entropy(3 * score, labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    rows = [
        [[Fraction(round(value * GRID), GRID) for value in row] for row in layer.weight.tolist()]
        for layer in (first, second)
    ]
    leak = Fraction(9, 10)
    return SpikingNetwork([SpikingLayer(row, leak=leak, threshold=1) for row in rows], CONVENTION)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    name, X, y, test, labels = images()
    start = time.perf_counter()
    spiking = trained(X, y)
    print(f"trained on {len(X)} images of {name} in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    network = unroll(spiking).network
    sizes = [layer.outputs for layer in network.layers]
    print(f"unrolled in {time.perf_counter() - start:.1f} s: layers of {sizes} neurons")
    samples = times_of(test)
    many = samples[: 1000 if quick else 10000]
    start = time.perf_counter()
    exact = network.predict(many)
    print(f"predicted {len(many)} in {time.perf_counter() - start:.1f} s")
    mismatches = int((exact != simulate_floats(spiking, many)).sum())
    right = np.flatnonzero(exact == labels[: len(many)])
    print(f"accuracy {len(right) / len(many):.3f}; {mismatches} of {len(many)} differ in float64")
    print(f"{'sample':>6} {'total shift':>11} {'seconds':>8} {'checked':>8}  answer")
    seconds: dict[int, list[float]] = {1: [], 2: []}
    first = samples[int(right[-1])]
    sg.verify(keeping_spikes(network, first), sg.Robust(first, sg.L1(2)), time_limit=5)  # compiles
    certified = True
    for k in right[: 3 if quick else 20].tolist():
        near = keeping_spikes(network, samples[k])
        for total in (1, 2):
            start = time.perf_counter()
            answer = sg.verify(near, sg.Robust(samples[k], sg.L1(total)))
            seconds[total].append(time.perf_counter() - start)
            start = time.perf_counter()
            sg.check(answer.certificate, near)
            checked = time.perf_counter() - start
            certified &= not isinstance(answer, sg.Undecided)
            print(f"{k:>6} {total:>11} {seconds[total][-1]:>8.2f} {checked:>8.2f}  {answer}", flush=True)
    result = {
        "delta1_s": round(median(seconds[1]), 3),
        "delta2_s": round(median(seconds[2]), 3),
        "certified": certified,
        "mismatches": mismatches,
    }
    print(f"RESULT {json.dumps(result)}")


if __name__ == "__main__":
    main()
