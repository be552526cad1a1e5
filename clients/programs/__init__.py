"""Programs that play: their processes, protocols and clocks, the openings they begin from, what their results say."""
