"""`python -m hlo_tools` is the `hlo` command."""

import sys

from hlo_tools.cli import main

sys.exit(main())
