"""Text from elsewhere is shown, never obeyed."""

FIRST_PRINTABLE = 0x20
DELETE, LAST_CONTROL = 0x7F, 0x9F
INVISIBLE = frozenset(
    map(chr, [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF])
)
"""Zero-width and direction characters, which make text read as something else."""


def printable(text: str) -> str:
    """Escape control and direction characters, so that foreign text cannot drive the terminal."""
    return "".join(char if _is_harmless(char) else _escaped(char) for char in text)


def _is_harmless(char: str) -> bool:
    code = ord(char)
    return code >= FIRST_PRINTABLE and not DELETE <= code <= LAST_CONTROL and char not in INVISIBLE


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
