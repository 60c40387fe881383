"""`python -m toolbus` is the command line."""

from toolbus.cli import main

main()
