"""Requests as people send them, shown in the OpenAPI document and executed by tests."""
