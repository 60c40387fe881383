"""The page of integrations: every provider with its setup, its methods, what each takes and does to the world."""

from collections.abc import Iterable, Iterator

from toolbus_contracts.integrations import MethodView, ProviderView
from toolbus_contracts.values import Json, compact

INTRODUCTION = """\
# Integrations

Ready tools, by provider. A tool names one of its methods, the first where it names none; what has to be set up comes
from the definition, or is stored once for many tools, with `secret://name` in place of a key:

```yaml
name: look_up
integration: {provider: wikipedia, method: search, arguments: {load_max_docs: 3}}
```

Each provider runs in a process of its own. `toolbus integrations ls` lists what a server has, those of other packages
too. A contract says what a method does to the world, and whether a second time is as good as once: what is not
repeatable is never tried again blindly (`effects.md`). A package of somebody else's is code that runs as the service's
user: what it reaches, and when it needs a deployment of its own, stands in [secrets.md](secrets.md). Written by `make
schemas`; a test compares it with the source.
"""


def integrations(views: Iterable[ProviderView]) -> str:
    """The page that shows these providers."""
    return "\n".join((INTRODUCTION, *(line for view in views for line in _provider(view))))


def _provider(view: ProviderView) -> Iterator[str]:
    yield f"## {view.provider}"
    yield ""
    links = (f"[{view.info.friendly_name}]({view.info.url})" if view.info.url else view.info.friendly_name,)
    more = (f"[documentation]({view.info.docs})",) if view.info.docs else ()
    extra = (f'needs `pip install "toolbus[{view.extra}]"`',) if view.extra else ()
    yield " · ".join((*links, *more, *extra))
    yield ""
    if view.setup is not None:
        yield from _properties("Setup", view.setup)
    for method in view.methods:
        yield from _method(view.provider, method)


def _method(provider: str, method: MethodView) -> Iterator[str]:
    yield f"### {provider}.{method.method}"
    yield ""
    yield method.description
    yield ""
    contract = f"Contract: {method.contract.effect}, idempotency {method.contract.idempotency}"
    again = f" · tried again after {', '.join(map(str, method.retry_on))}" if method.retry_on else ""
    yield f"{contract} · {method.timeout_s:g} s an attempt{again}"
    yield ""
    yield from _properties("Argument", method.arguments)
    yield from _properties("Output", method.output)


def _properties(title: str, schema: Json) -> Iterator[str]:
    """What a schema says, and a table of its properties; a line when it takes anything."""
    said = " ".join(str(schema.get("description", "")).split())
    if said:
        yield f"{title}: {said}"
        yield ""
    properties = schema.get("properties", {})
    if not properties:
        yield f"{title}: whatever is given." if schema.get("additionalProperties") else f"{title}: nothing."
        yield ""
        return
    required = schema.get("required", ())
    yield f"| {title} | type | default | |"
    yield "|---|---|---|---|"
    for name, found in properties.items():
        default = "required" if name in required else f"`{compact(found['default'])}`" if "default" in found else ""
        told = " ".join(str(found.get("description", "")).split())
        yield f"| `{name}` | {_cell(_kind(found, schema))} | {_cell(default)} | {_cell(told)} |"
    yield ""


def _kind(found: Json, schema: Json) -> str:
    """What a property may be, in few words."""
    match found:
        case {"$ref": str() as place}:
            return _kind(schema.get("$defs", {}).get(place.rpartition("/")[2], {}), schema)
        case {"enum": list() as choices}:
            return " or ".join(f"`{compact(choice)}`" for choice in choices)
        case {"const": choice}:
            return f"`{compact(choice)}`"
        case {"anyOf": list() as choices} | {"oneOf": list() as choices}:
            return " or ".join(dict.fromkeys(_kind(choice, schema) for choice in choices))
        case {"type": "array", "items": items}:
            return f"list of {_kind(items, schema)}"
        case {"type": str() as kind}:
            return kind
        case _:
            return "any"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
