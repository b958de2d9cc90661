"""The few colours that charts, borders and the report share, told apart by every kind of colour vision.

Success, failure and the two curves are of Okabe and Ito, "Color Universal Design" (2008).
"""

SUCCESS = "#009e73"
FAILURE = "#d55e00"
CURVE = "#0072b2"
SECOND_CURVE = "#b8578f"
INK = "#1f2933"
MUTED = "#66727f"
LINE = "#d9dfe5"
PAPER = "#ffffff"


def rgb(colour: str) -> tuple[int, int, int]:
    """Return `#rrggbb` as three numbers 0..255."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
