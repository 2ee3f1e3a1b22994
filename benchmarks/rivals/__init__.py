"""What others do for the same work, written from their description; one module a rival."""
