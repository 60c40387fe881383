"""Pure decisions: (command, state, now) → events. No input, no output, no clock."""
