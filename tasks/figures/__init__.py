"""The figures of the reports, each drawn from results."""
