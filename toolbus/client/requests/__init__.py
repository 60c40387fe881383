"""Every request that the client can make, as plain values: one function for each endpoint."""
