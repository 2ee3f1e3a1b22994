"""``python -m clipstore``: the one line that may look up at the command."""

from clipstore_cli.main import run

if __name__ == "__main__":
    run()
