"""Exchange: what leaves a store and comes into one. Whole copies, merges, Parquet, NumPy, folders of other tools."""
