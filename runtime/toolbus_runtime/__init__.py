"""Plumbing that every service uses: it knows libraries, and never a service."""
