"""`python -m easydata.cli`."""

import sys

from easydata.cli import main

if __name__ == "__main__":
    sys.exit(main())
