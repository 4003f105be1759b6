"""What each operation of StableHLO becomes, by families."""
