"""Train the spiking network of docs/spiking.md with snnTorch on the digits of scikit-learn, and write it.

Run: python examples/digits_spiking.py (needs snntorch, torch and scikit-learn)
"""

from pathlib import Path

import numpy as np
import snntorch as snn
import torch
from sklearn.datasets import load_digits
from snntorch import surrogate

STEPS, HIDDEN, LEAK, GRID = 5, 12, 0.75, 16


def times_of(X: np.ndarray) -> np.ndarray:
    """Pixels of 0..16: the darker the ink, the earlier the spike; below 4 none."""
    return np.where(X < 4, STEPS, (16 - X) * STEPS // 13).astype(np.int64)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    X, y = load_digits(return_X_y=True)
    trains = torch.tensor(times_of(X)[:, :, None] == np.arange(STEPS), dtype=torch.float32)
    labels = torch.tensor(y)
    first, second = torch.nn.Linear(64, HIDDEN, bias=False), torch.nn.Linear(HIDDEN, 10, bias=False)
    hidden = snn.Leaky(beta=LEAK, spike_grad=surrogate.fast_sigmoid(slope=5))
    readout = snn.Leaky(beta=LEAK, reset_mechanism="none")

    def potentials(part: torch.Tensor) -> torch.Tensor:
        """Of the classes after the last step, with weights rounded to the grid, straight through."""
        weights = [layer.weight for layer in (first, second)]
        weights = [w + ((w * GRID).round() / GRID - w).detach() for w in weights]
        one, two = hidden.reset_mem(), readout.reset_mem()
        for t in range(STEPS):
            spikes, one = hidden(trains[part, :, t] @ weights[0].T, one)
            _, two = readout(spikes @ weights[1].T, two)
        return two

    optimizer = torch.optim.Adam([first.weight, second.weight], 1e-2)
    shuffled = torch.tensor(np.random.default_rng(0).permutation(len(y)))
    training, test = shuffled[:1438], shuffled[1438:]
    for _ in range(40):
        for part in training[torch.randperm(len(training))].split(128):
            loss = torch.nn.functional.cross_entropy(potentials(part), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = potentials(test).argmax(1) == labels[test]
    print(f"accuracy on {len(test)} test images: {right.float().mean():.3f}")
    arrays = {}
    for number, layer in enumerate((first, second), start=1):
        arrays[f"weight{number}"] = ((layer.weight * GRID).round() / GRID).detach().numpy()
        arrays[f"leak{number}"] = np.float32(LEAK)
    arrays["threshold1"] = np.float32(1)  # the readout has none: it does not spike
    np.savez_compressed(Path(__file__).parent / "digits_spiking.npz", **arrays)


if __name__ == "__main__":
    main()
