import json

from workers.contract.hardware import Hardware


def hardware(**changes: object) -> Hardware:
    fields = {
        "accelerator": "NVIDIA H100 80GB HBM3",
        "memory_class_gib": 80,
        "num_devices": 8,
        "fabric": "nvswitch",
    }
    return Hardware.model_validate({**fields, **changes})


def test_key_of_a_machine_never_changes() -> None:
    """Sweeps are bound to it and histories hang on it."""
    assert hardware().hardware_key == "h1:431a523bb052c16fb3c7973a724283cf"


def test_key_does_not_depend_on_the_order_of_fields() -> None:
    fields = json.loads(hardware().model_dump_json())
    backwards = Hardware.model_validate(dict(reversed(fields.items())))
    assert backwards.hardware_key == hardware().hardware_key


def test_default_given_or_left_out_is_the_same_machine() -> None:
    assert hardware(partition="").hardware_key == hardware().hardware_key


def test_whatever_makes_machines_unlike_changes_the_key() -> None:
    unlike = [
        hardware(),
        hardware(accelerator="NVIDIA A100-SXM4-40GB"),
        hardware(memory_class_gib=94),
        hardware(num_devices=4),
        hardware(fabric="pcie"),
        hardware(partition="MIG 1g.10gb"),
    ]
    assert len({machine.hardware_key for machine in unlike}) == len(unlike)
