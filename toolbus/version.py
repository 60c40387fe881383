"""The version of the installed package."""


def installed_version() -> str:
    """Tell which version of Toolbus is installed; a source tree that was never installed has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("toolbus")
    except PackageNotFoundError:
        return "0+source"
