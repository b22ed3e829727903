from service.analysis.quality import MEANINGS, explain


def test_a_flag_is_explained_in_words() -> None:
    (words,) = explain(["oversubscribed"])
    assert words.startswith("oversubscribed: more ranks than cores")


def test_an_unknown_flag_is_shown_as_it_is() -> None:
    assert explain(["new_flag", "busy"]) == ("new_flag", "busy")


def test_every_flag_the_workers_raise_has_words() -> None:
    assert {"oversubscribed", "scheduler_noise", "kv_heads_replicated"} <= set(MEANINGS)
