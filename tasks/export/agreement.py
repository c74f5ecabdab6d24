"""How far two searches with the same weights find the same outputs, and what the scores say where they do not."""

from dataclasses import dataclass

from transformer.search import Hypothesis

# By so much may the scores of one output differ: both sum in fp32, and those of trained models were alike to 1e-5.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Agreement:
    """How the outputs of CTranslate2 compare with ours, in numbers of sentences.

    Where tokens differ, the scores say why: alike (a tie that rounding decides), or one of both searches found what the
    other did not.
    """

    sentences: int
    same: int
    ties: int
    ours_better: int
    theirs_better: int
    score_difference: float  # the largest between outputs that are the same

    @property
    def share(self) -> float:
        """Of the sentences with the same tokens."""
        return self.same / self.sentences


def agree(ours: list[Hypothesis], theirs: list[Hypothesis]) -> Agreement:
    """Compare the outputs of all sentences; scores are penalised log-probabilities of the same form."""
    same = [a.ids == b.ids for a, b in zip(ours, theirs, strict=True)]
    differences = [a.score - b.score for a, b in zip(ours, theirs, strict=True)]
    others = [difference for difference, equal in zip(differences, same, strict=True) if not equal]
    return Agreement(
        sentences=len(same),
        same=sum(same),
        ties=sum(abs(difference) <= ROUNDING for difference in others),
        ours_better=sum(difference > ROUNDING for difference in others),
        theirs_better=sum(difference < -ROUNDING for difference in others),
        score_difference=max((abs(d) for d, equal in zip(differences, same, strict=True) if equal), default=0.0),
    )
