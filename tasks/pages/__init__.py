"""The pages of reports/: the paper's tables with the measured numbers, and the page of all."""
