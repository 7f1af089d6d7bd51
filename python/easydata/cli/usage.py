"""What is said of a command line that cannot be meant."""


class UsageError(Exception):
    """A command line that cannot be meant."""
