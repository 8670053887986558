"""Questions that go wrong for some samples, in the process that asks them."""

import os
import signal
import time
from dataclasses import dataclass

from sugenet.errors import QuestionError
from sugenet.reason import Robust, each


@dataclass(frozen=True, eq=False)
class Deadly(Robust):
    """Ends the process of whoever asks about certain samples."""

    deadly: tuple = ()

    def problem(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def near(self, network):
        if self.sample is not each and tuple(self.sample) in self.deadly:
            self.problem()
        return super().near(network)


@dataclass(frozen=True, eq=False)
class Refusing(Deadly):
    """Refuses certain samples."""

    def problem(self):
        raise QuestionError("not this one")


@dataclass(frozen=True, eq=False)
class Broken(Deadly):
    """Has a mistake that shows with certain samples."""

    error: type[Exception] = RuntimeError

    def problem(self):
        raise self.error("a mistake")


@dataclass(frozen=True, eq=False)
class Slow(Deadly):
    """Takes its time with certain samples."""

    seconds: float = 0.5

    def problem(self):
        time.sleep(self.seconds)
