from hypothesis import given, strategies

from service.cli.escaping import printable


def test_terminal_sequences_are_shown_and_not_obeyed() -> None:
    assert printable("\x1b]0;title\x07\x9b31mred") == r"\x1b]0;title\x07\x9b31mred"


def test_direction_marks_are_shown() -> None:
    assert printable("a\u202eb") == r"a\u202eb"


def test_plain_text_of_any_language_stays_as_it_is() -> None:
    assert printable("größer, 模型 → ok") == "größer, 模型 → ok"


@given(strategies.text())
def test_nothing_unprintable_is_left(text: str) -> None:
    shown = printable(text)
    assert all(ord(char) >= 0x20 and not 0x7F <= ord(char) <= 0x9F for char in shown)
