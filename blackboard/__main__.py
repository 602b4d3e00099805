"""`python -m blackboard` is the `blackboard` command."""

from blackboard.cli import main

if __name__ == "__main__":
    main()
