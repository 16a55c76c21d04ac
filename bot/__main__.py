"""`python -m bot` is `rejoinder`."""

from bot.cli import main

if __name__ == "__main__":
    main(prog_name="rejoinder")
