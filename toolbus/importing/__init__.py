"""
Tools made of what others wrote: OpenAPI documents.

`documents` reads one, `operations` lists and names what it offers, `schemas` (with `values`) writes its schemas as
JSON Schema 2020-12, `arguments` and `bodies` (with `keys`, `forms` and `files`) find a place in an `api_call` for each
parameter and body, `styles` (with `narrowing`) say how its values are written there, `security` finds one for
credentials, and `openapi` puts it together. What cannot be sent exactly as the document says becomes no
tool, and is told with the reason. Nothing but the document itself is ever fetched.
"""
