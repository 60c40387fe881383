"""
The HTTP request of an `api_call`, from definition and arguments to bytes. Read `request.py`.

Whoever sends it and whoever shows it beforehand make it here: what people agree to is what goes out.
"""
