"""What every study uses: data sets, peers, the sweep, the machine, the tables."""
