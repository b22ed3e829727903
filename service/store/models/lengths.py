"""Widths of text columns."""

ID = 36
KEY = 40
"""spec_key and hardware_key: a prefix and 32 hexadecimal digits."""
WORD = 40
"""Values of an axis, codes."""
NAME = 200
