"""Pure decisions about waits, grants and delegations: (command, state, now) → events. No clock, no outside."""
