"""The forger of stores: it changes one thing at random, and says what has to come of it."""

from collections.abc import Callable, Sequence

from tests.study.forging_hand import Forgery
from tests.study.forging_plans import OfPlans
from tests.study.forging_results import OfResults


class Forger(OfResults, OfPlans):
    """Forges anything."""

    @property
    def kinds(self) -> Sequence[Callable[[], Forgery | None]]:
        """All that it can do."""
        of_answers = (self.objective, self.bound, self.answer, self.solution, self.certificate, self.swapped_solutions)
        of_rows = (
            self.swapped_results,
            self.status,
            self.figure,
            self.fact,
            self.label,
            self.method,
            self.cell,
            self.planned,
        )
        of_origins = (self.instance, self.recipe, self.key, self.versions, self.limits, self.study)
        return (*of_answers, *of_rows, *of_origins, self.message, self.seconds, self.dropped, self.source)

    @property
    def harmless(self) -> Sequence[Callable[[], Forgery | None]]:
        """What makes nothing false: a check that refuses one of these refuses too much."""
        return self.message, self.seconds, self.repacked, self.forgotten

    def forge(self) -> Forgery:
        """Change something; what turns out to change nothing is done again."""
        while True:
            before = list(self.database.iterdump())
            found = self.random.choice(self.kinds)()
            if found is not None and list(self.database.iterdump()) != before:
                return found
