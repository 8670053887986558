"""``python -m sugenet`` is the command line."""

import sys

from sugenet.cli import main

if __name__ == "__main__":
    sys.exit(main())
