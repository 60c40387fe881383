"""YAML with the scalars of JSON. Source: YAML 1.2.2 §10.2 (JSON schema and core schema)."""

import re
from typing import Final, TypeVar

import yaml

SCALARS: Final = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
)
L = TypeVar("L", bound=yaml.SafeLoader)


def with_json_scalars(loader: type[L]) -> type[L]:
    """The same loader, for which `no`, `on`, dates and `1:30` are text, and whole numbers decimal."""
    loader.yaml_implicit_resolvers = {}
    for tag, pattern, first in SCALARS:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
    loader.add_constructor("tag:yaml.org,2002:int", _whole)
    return loader


def _whole(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))
