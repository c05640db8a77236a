"""The version of dlsched; the package's metadata are made from it, as reading them takes long."""

VERSION = "0.1.0"
