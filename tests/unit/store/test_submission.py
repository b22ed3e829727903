from hypothesis import given
from hypothesis import strategies as st

from service.store.submission import random_order

SEEDS = st.integers(0, 2**63 - 1)


@given(count=st.integers(0, 200), seed=SEEDS, replicate=st.integers(0, 49))
def test_an_order_holds_every_position_once(count: int, seed: int, replicate: int) -> None:
    order = random_order(count, seed=seed, replicate=replicate)
    assert sorted(order) == list(range(count))
    assert order == random_order(count, seed=seed, replicate=replicate)


def test_the_order_of_a_seed_never_changes() -> None:
    """Whoever knows the seed can say in which order a sweep ran."""
    assert random_order(8, seed=7, replicate=1) == [6, 3, 4, 2, 7, 0, 5, 1]


def test_orders_differ_between_replicates_and_seeds() -> None:
    orders = [random_order(20, seed=s, replicate=r) for s in range(5) for r in range(5)]
    assert len({tuple(order) for order in orders}) == 25
