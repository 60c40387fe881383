"""The version of this installation."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("toolbus")
except PackageNotFoundError:  # run from a checkout that was never installed
    VERSION = "0.0.0"
