#!/usr/bin/env python3
"""Django's own commands, for those who work on the service; everyone else uses ./ksched."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    execute_from_command_line(sys.argv)
