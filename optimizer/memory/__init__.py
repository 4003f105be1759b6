"""Where values lie: which share memory, which must be copied, and at which addresses all are."""
