"""`python -m scheduler_core.conformance`."""

from scheduler_core.conformance import main

raise SystemExit(main())
