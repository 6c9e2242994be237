"""What is kept of a scheduling cycle: digests, the compressed matrix, the summary of a row, the first divergence."""
