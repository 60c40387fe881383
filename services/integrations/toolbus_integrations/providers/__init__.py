"""
The ready tools, one module each: written against `toolbus` alone, as a third party would.

A module of this package holds a provider as `provider`, under the name of the module, unless it is one of `SHARED`.
"""

from typing import Final

SHARED: Final = frozenset(
    {
        "archives",
        "browser_keys",
        "cloudinary_parameters",
        "drivers",
        "google_accounts",
        "google_ranges",
        "mails",
        "mcp_sessions",
        "media_commands",
        "media_filters",
        "media_launcher",
        "relays",
        "vendor",
    }
)
