"""Pure rules: sealing secrets, and what the answers of hosts mean."""
