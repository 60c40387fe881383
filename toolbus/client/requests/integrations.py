"""Requests about the catalogue of integrations."""

from toolbus.client.exchange import Page, Request, reading, reading_page
from toolbus.client.requests.parts import part
from toolbus_contracts.integrations import ProviderView


def list_providers() -> Request[Page[ProviderView]]:
    """GET /v1/integrations: all of them, on one page."""
    return Request("GET", "/v1/integrations", reading_page(ProviderView))


def get_provider(name: str) -> Request[ProviderView]:
    """GET /v1/integrations/{provider}."""
    return Request("GET", f"/v1/integrations/{part(name)}", reading(ProviderView))
