"""What the storage benchmarks share: the machine, medians of repeats, and stores of a given size."""
