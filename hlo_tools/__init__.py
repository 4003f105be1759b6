"""The `hlo` command and what ties the rooms together."""
