import inspect
import re

from service.analysis.quality import MEANINGS, explain
from workers import measure
from workers.contract import conditions


def test_a_flag_is_explained_in_words() -> None:
    (words,) = explain(["oversubscribed"])
    assert words.startswith("oversubscribed: more ranks than cores")


def test_an_unknown_flag_is_shown_as_it_is() -> None:
    assert explain(["new_flag", "busy"]) == ("new_flag", "busy")


def test_every_flag_the_workers_raise_has_words() -> None:
    """They are read out of the source: whoever adds one shall not have to think of this."""
    source = inspect.getsource(conditions) + inspect.getsource(measure)
    raised = set(re.findall(r'(?:yield |\(\(|quality, )"(\w+)"', source))
    assert {"oversubscribed", "throttled", "launch_bound", "paired"} <= raised
    assert raised <= MEANINGS.keys()
