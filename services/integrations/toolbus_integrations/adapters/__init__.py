"""One module for each outside thing."""
