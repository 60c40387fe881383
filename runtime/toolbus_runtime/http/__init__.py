"""What every HTTP service shares: strict bodies, problem details, paging, server-sent events, keys."""
