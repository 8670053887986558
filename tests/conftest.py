import signal
from contextlib import suppress

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # started in the background: programs that tests start must hear Ctrl-C all the same
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
