"""
A function behind a webhook: Toolbus asks it, signed as the public library `standardwebhooks` verifies it.

Run it with `WEBHOOK_SECRET=whsec_… uvicorn function_webhook:app --port 9001`; see draft_letter.yaml.
"""

import os
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from standardwebhooks import Webhook, WebhookVerificationError

app = FastAPI()
webhook = Webhook(os.environ["WEBHOOK_SECRET"])
answers: dict[str, dict[str, Any]] = {}  # a message that comes again (the same webhook-id) is not worked on again


@app.post("/tools")
async def tools(request: Request) -> dict[str, Any]:
    """Answer a call at once. Status 202 and no body would say: later, by `POST /v1/calls/{id}/complete`."""
    try:
        message = webhook.verify(await request.body(), dict(request.headers))
    except WebhookVerificationError as error:
        raise HTTPException(401, str(error)) from error
    call = message["data"]
    if call["wait_id"] not in answers:
        answers[call["wait_id"]] = {"output": {"letter": f"Dear {call['arguments']['to']}, …"}}
    return answers[call["wait_id"]]
