from time import process_time

from workers.contract.sweep import SweepSpec


def test_a_grid_of_ten_thousand_rejections_is_judged_in_seconds() -> None:
    spec = SweepSpec.model_validate(
        {
            "models": "llama-2-7b",
            "blocks": ["mlp", "attention", "layer"],
            "tp_degree": [3, 5, 6, 7, 9],
            "batch": list(range(1, 667)),
        }
    )
    began = process_time()
    assert len(spec.expand().rejected) == spec.num_combinations == 9990
    assert process_time() - began < 10
