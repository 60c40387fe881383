"""The HTTP face of the dispatcher, one file per resource; `application.py` puts them together."""
