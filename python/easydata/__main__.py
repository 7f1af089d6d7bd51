"""`python -m easydata`."""

import sys

from easydata.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
