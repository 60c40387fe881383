"""
The executor of `api_call` tools: carries out HTTP requests, and has no database.

It owns nothing but what is on its way: it takes work from the durable `api_caller` of the stream WORK,
asks the dispatcher for permission where an effect must not be repeated, sends the one request that the
definition and the arguments stand for, and tells the outcome on the bus. Read `handlers.py`, then
`toolbus_contracts/requests/request.py` (arguments to bytes) and `core/response.py` (answers to meanings).
Whether anything was sent is said by `adapters/watched_request.py`, and by nothing else.
"""
