"""What trees ask for beyond sums of targets: medians, and values that rise or fall with a feature."""
