"""`python -m dagsplit_profile` is `dagsplit-profile`."""

import sys

from .cli import main

sys.exit(main())
