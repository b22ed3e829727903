"""The description of the API holds what clients are generated from."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from service.api.answers import answers
from service.api.app import ROUTERS, create_app
from service.api.docs import page
from service.api.openapi import Document
from service.api.route import routes_of
from service.settings import Settings
from service.store.engine import Sessions
from workers.contract.sweep import SweepSpec


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    home: Path = tmp_path_factory.mktemp("home")
    engine = create_engine("sqlite://")
    return create_app(Settings(home=home), Sessions(engine)).openapi()


def _operations(document: Document) -> dict[str, Document]:
    return {
        operation["operationId"]: operation
        for methods in document["paths"].values()
        for operation in methods.values()
    }


def test_operations_have_stable_names(document: Document) -> None:
    assert set(_operations(document)) == {
        "preview_sweep",
        "create_sweep",
        "list_sweeps",
        "get_sweep",
        "list_points",
        "list_pairs",
        "cancel_sweep",
        "retry_sweep",
        "stream_events",
        "pin_baseline",
        "list_baselines",
        "get_baseline",
        "change_baseline",
        "remove_baseline",
        "list_candidates",
        "get_self_check",
        "acknowledge_finding",
        "create_webhook",
        "delete_webhook",
        "dismiss_finding",
        "fix_finding",
        "get_finding",
        "get_webhook",
        "list_deliveries",
        "list_findings",
        "list_policies",
        "list_webhooks",
        "reopen_finding",
        "test_webhook",
        "get_fingerprint",
        "create_schedule",
        "list_schedules",
        "get_schedule",
        "replace_schedule",
        "delete_schedule",
        "run_schedule",
        "pause_schedule",
        "resume_schedule",
        "list_decisions",
        "list_bridges",
        "list_results",
        "get_profile",
        "get_result",
        "compare_sweeps",
        "compare_selections",
        "compare_groups",
        "get_breakeven",
        "compare_arrangements",
        "plan_memory",
        "import_results",
        "export_results",
        "calibrate",
        "get_roofline",
        "list_curves",
        "explain_topology",
        "predict_point",
        "recommend_degree",
        "plan_advice",
        "advise",
        "list_ranges",
        "list_claims",
        "list_models",
        "list_nodes",
        "get_fleet",
        "get_series",
        "create_token",
        "list_tokens",
        "revoke_token",
        "livez",
        "healthz",
        "readyz",
    }


def test_every_operation_says_what_it_answers_and_how_it_fails(document: Document) -> None:
    for name, operation in _operations(document).items():
        assert operation["description"], name
        good = [status for status in operation["responses"] if status.startswith("2")]
        assert good, name
        for status in ("4XX", "5XX"):
            content = operation["responses"][status]["content"]
            assert list(content) == ["application/problem+json"], name


def test_every_operation_names_its_scope(document: Document) -> None:
    scopes = {name: one.get("x-scope") for name, one in _operations(document).items()}
    assert scopes == {
        route.name: route.requirement.scope
        for route in routes_of(ROUTERS)
        if route.include_in_schema
    }
    guarded = [one for one in _operations(document).values() if "x-scope" in one]
    assert all(one["security"] == [{"token": []}, {}] for one in guarded)


def test_every_reference_leads_somewhere(document: Document) -> None:
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)))
    schemas = document["components"]["schemas"]
    assert {one.rpartition("/")[2] for one in references} <= set(schemas)
    assert "HTTPValidationError" not in schemas


def test_request_bodies_have_examples(document: Document) -> None:
    bodies = [one["requestBody"] for one in _operations(document).values() if "requestBody" in one]
    assert bodies
    assert all(body["content"]["application/json"]["examples"] for body in bodies)


@pytest.mark.parametrize("name", answers())
def test_answers_by_example_are_what_the_operation_answers(name: str, document: Document) -> None:
    responses = _operations(document)[name]["responses"]
    (content,) = [
        one["content"]["application/json"]
        for status, one in responses.items()
        if status.startswith("2")
    ]
    model = answers()[name]
    assert content["schema"]["$ref"].rpartition("/")[2].startswith(type(model).__name__[:4])
    assert type(model).model_validate(content["example"]) == model


def test_a_sweep_may_be_written_short(document: Document) -> None:
    body = _operations(document)["create_sweep"]["requestBody"]["content"]["application/json"]
    examples = [one["value"] for one in body["examples"].values()]
    assert any(not isinstance(example["models"], list) for example in examples)
    for example in examples:
        SweepSpec.model_validate(example)


class _Loads(HTMLParser):
    """Collects everything a page makes a browser load."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [tag for name, _ in attrs if name == "src"]
        if tag in {"script", "link", "iframe", "img"}:
            self.loaded.append(tag)


def test_the_page_for_people_loads_nothing_and_names_every_call(document: Document) -> None:
    shown = page(document, "http://127.0.0.1:8321/")
    parser = _Loads()
    parser.feed(shown)
    assert parser.loaded == []
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in shown
    assert "curl -X POST http://127.0.0.1:8321/v1/sweeps " in shown


def test_the_page_escapes_what_it_shows(document: Document) -> None:
    shown = page(document, "http://<script>/")
    assert "<script>" not in shown
