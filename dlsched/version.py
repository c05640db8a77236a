"""The version of dlsched, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("dlsched")
except PackageNotFoundError:  # run from a source tree that is not installed
    VERSION = "uninstalled"
