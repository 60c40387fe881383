"""
The inbox page: people see the waits of their tenant, and decide, answer, complete and settle them.

`routes.py` is the routing table: what is read (`reading.py`), done (`acting.py`) and signed in (`signing_in.py`).
`parts.py` says what the page needs of the service. `showing.py` and `requests.py` turn waits into what is shown;
`visible.py` makes hostile text harmless; `forms.py` makes a form of a schema and values of a form;
`sessions.py` and `guarding.py` keep out whoever did not sign in. Nothing here decides: the desk does.
"""
