"""One module for each family of commands; `blackboard.cli.app` says which."""
