"""Arrays in, numbers out: metrics never see the store, the store never scores."""
