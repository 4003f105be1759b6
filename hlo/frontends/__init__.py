"""Other ways into the language than HLO text."""
