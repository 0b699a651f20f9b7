"""What a notebook or a command may raise on purpose. Knows nothing else."""


class UserError(ValueError):
    """Wrong input: the message is one line saying what is wrong, the value, and what to do.

    The command line prints it without a traceback and exits with code 2.
    """


class PlanOnly(Exception):
    """Ends a notebook whose plan has been printed: nothing is measured and nothing is wrong."""
