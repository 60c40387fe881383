"""The routing table of the page."""

from fastapi import APIRouter

from toolbus_approvals.inbox import acting, reading, signing_in
from toolbus_approvals.inbox.guarding import SIGN_IN, PageRoute

READS = {
    "/": reading.list_page,
    "/inbox/list": reading.list_part,
    "/inbox/events": reading.events,
    "/inbox/waits/{wait_id}": reading.wait_page,
    SIGN_IN: signing_in.sign_in_page,
    "/static/{name}": reading.static,
}
ACTS = {
    "/inbox/decide": acting.decide,
    "/inbox/waits/{wait_id}/approve": acting.approve,
    "/inbox/waits/{wait_id}/deny": acting.deny,
    "/inbox/waits/{wait_id}/edit": acting.edit,
    "/inbox/waits/{wait_id}/answer": acting.answer,
    "/inbox/waits/{wait_id}/complete": acting.complete,
    "/inbox/waits/{wait_id}/settle": acting.settle,
    SIGN_IN: signing_in.sign_in,
    "/inbox/sign-out": signing_in.sign_out,
}

# People read it, no program: the OpenAPI document does not tell of it.
router = APIRouter(tags=["inbox"], route_class=PageRoute, include_in_schema=False)
for path, read in READS.items():
    router.add_api_route(path, read, methods=["GET"])
for path, act in ACTS.items():
    router.add_api_route(path, act, methods=["POST"])
