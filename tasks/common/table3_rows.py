"""The rows of the paper's Table 3, one of which an experiment may be: fields `table` and `row` of params.yaml."""

_GROUPS = {"A": 4, "B": 2, "C": 7, "D": 4, "E": 1}  # letters of the paper's groups, and how many rows each has
ROWS = ["base", *(f"{group}{n}" for group, rows in _GROUPS.items() for n in range(1, rows + 1)), "big"]
TITLES = {"table3": "Table 3", "table3-tiny": "Table 3 at laptop size"}
