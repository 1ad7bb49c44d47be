"""What runs beside the mathematics: threads, the clock, progress, settings, and how results print."""
