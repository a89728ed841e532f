"""What can go wrong, said to the person who can cure it."""


class ProfileError(Exception):
    """A model, option or file that cannot be used; the message names the cause and the cure."""
