"""The two ways in which a flow ends badly."""


class BadInput(Exception):
    """Something the user gave is wrong. The message is one line that says what to do; the exit code is 2."""


class StageError(Exception):
    """A stage failed. `exit_code` is the stage's own where DVC tells it; `last_lines` are the last it wrote."""

    def __init__(self, stage: str, exit_code: int, last_lines: list[str], stopped: bool = False) -> None:
        """`stopped` says that it was ended on purpose, with its flow."""
        super().__init__(f"{stage} ended with exit code {exit_code}")
        self.stage = stage
        self.exit_code = exit_code
        self.last_lines = last_lines
        self.stopped = stopped

    @property
    def is_bad_input(self) -> bool:
        """Whether only the user can help, so that to try again is no use."""
        return self.exit_code == 2

    @property
    def cause(self) -> str:
        """The line in which the stage, else torchrun of a killed rank, else DVC says what was wrong; else the last."""
        for start, prefix in (
            ("error: ", "error: "),
            ("  traceback : Signal ", "  traceback : "),
            ("ERROR: ", "ERROR: "),
        ):
            for line in reversed(self.last_lines):
                if line.startswith(start):
                    return line.removeprefix(prefix)
        return self.last_lines[-1] if self.last_lines else "it said nothing"
