"""Pure rules of an HTTP call: arguments to request, answer to outcome. Time and ids are arguments."""
