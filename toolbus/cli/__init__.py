"""
The command line: data on stdout, everything else on stderr, exit codes that mean something.

One file for each noun; `app.py` puts them together and turns errors into messages and exit codes.
"""

from toolbus.cli.app import main

__all__ = ["main"]
