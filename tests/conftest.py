import os
import signal
from contextlib import suppress

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")

os.environ.setdefault("SUGENET_ENGINE", "numba")  # compiled kernels are what most tests are about

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # started in the background: programs that tests start must hear Ctrl-C all the same
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
