"""`python -m lineagelog` is the command `lineagelog`."""

from __future__ import annotations

from lineagelog.cli import main

if __name__ == "__main__":
    main()
