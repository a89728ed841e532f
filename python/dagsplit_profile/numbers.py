"""Numbers that are short in a file."""


def significant(value: float, digits: int) -> float:
    """`value` to so many significant decimal digits."""
    return float(f"{value:.{digits - 1}e}")
