"""``python -m dlsched``: the command line."""

from dlsched.cli import main

if __name__ == "__main__":
    main()
