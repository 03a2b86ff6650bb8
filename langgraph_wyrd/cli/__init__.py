"""The terminal's commands: one module a group, one table of commands in each."""
