"""How long a first answer takes on a machine where nothing has been compiled, and how much is installed.

Run: python -m benchmarks.startup [--quick]

Every command runs in a process of its own with an empty cache of compiled kernels, of both shipped models;
the slower one counts. What is installed is the sum of the files of sugenet's distributions as pip recorded
them: those that it needs without an extra, and theirs. Without --quick every command runs three times, the
fastest counts, and the same is asked once more with what `sugenet warm-up` has compiled.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks._measure import machine

COMMANDS = {
    "predict": ("predict", "{}", "--index", "7"),
    "whatif": ("whatif", "{}", "--index", "7"),
    "verify": ("verify", "{}", "--index", "7", "--hamming", "2"),
    "why": ("why", "{}", "--index", "7", "--l0", "2"),
    "count": ("count", "{}", "--index", "7", "--hamming", "3"),
}
MODELS = ("digits", "breast_cancer")


def run(words: list[str], cache: str) -> tuple[float, float]:
    """Seconds by the clock and of CPU that a program takes."""
    environment = {name: value for name, value in os.environ.items() if name != "SUGENET_ENGINE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words],
        env={**environment, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold(words: list[str], times: int) -> tuple[float, float]:
    found = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as cache:
            found.append(run(words, cache))
    return min(found)


def needed(name: str, found: dict[str, Distribution]) -> None:
    """A distribution and all that it needs here, without extras."""
    own = distribution(name)
    if own.metadata["Name"].lower() in found:
        return
    found[own.metadata["Name"].lower()] = own
    for line in own.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed(requirement.name, found)


def size_of(own: Distribution) -> int:
    places = [Path(str(own.locate_file(file))) for file in own.files or ()]
    return sum(place.stat().st_size for place in places if place.is_file())


def installed() -> dict[str, int]:
    """Bytes of each distribution of a core install; sugenet's own are those of its source."""
    source = Path(__file__).parent.parent
    lines = tomllib.loads((source / "pyproject.toml").read_text())["project"]["dependencies"]
    found: dict[str, Distribution] = {}
    for line in lines:
        needed(Requirement(line).name, found)
    sizes = {name: size_of(own) for name, own in found.items()}
    own = [
        place for place in (source / "src").rglob("*") if place.is_file() and "__pycache__" not in place.parts
    ]
    return {"sugenet": sum(place.stat().st_size for place in own), **sizes}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    times = 1 if parser.parse_args().quick else 3
    print(machine())
    first: dict[str, float] = {}
    print(f"\n{'cold, seconds':<28}{'clock':>8}{'CPU':>8}")
    for name, words in COMMANDS.items():
        for model in MODELS:
            seconds, spent = cold(["-m", "sugenet", *(word.format(model) for word in words)], times)
            first[name] = max(first.get(name, 0.0), seconds)
            print(f"{name + ' ' + model:<28}{seconds:>8.2f}{spent:>8.2f}", flush=True)
    demo, spent = cold(["-m", "sugenet", "demo"], times)
    print(f"{'demo':<28}{demo:>8.2f}{spent:>8.2f}")
    bare, _ = cold(["-c", ""], 3)
    imported = 1000 * (cold(["-c", "import sugenet"], 3)[0] - bare)
    print(f"{'import sugenet':<28}{imported / 1000:>8.3f}")
    if times > 1:
        with tempfile.TemporaryDirectory() as cache:
            print(f"{'warm-up':<28}{run(['-m', 'sugenet', 'warm-up'], cache)[0]:>8.2f}")
            for name, words in COMMANDS.items():
                seconds, spent = run(["-m", "sugenet", *(word.format("digits") for word in words)], cache)
                print(f"{name + ' digits, warm':<28}{seconds:>8.2f}{spent:>8.2f}")
    sizes = installed()
    print(f"\n{'installed, MB':<28}")
    for name, size in sorted(sizes.items(), key=lambda pair: -pair[1]):
        print(f"  {name:<26}{size / 1e6:>8.1f}")
    figures = {
        "cold_first_answer_s": {name: round(seconds, 2) for name, seconds in first.items()},
        "cold_demo_s": round(demo, 2),
        "install_mb": round(sum(sizes.values()) / 1e6, 1),
        "import_ms": round(imported, 1),
    }
    print(f"RESULT {json.dumps(figures)}")


if __name__ == "__main__":
    main()
