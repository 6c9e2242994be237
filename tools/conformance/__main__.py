"""`python -m tools.conformance`."""

from tools.conformance import main

raise SystemExit(main())
