"""`python -m motet` is the `motet` command."""

from motet.cli import main

if __name__ == "__main__":
    main()
