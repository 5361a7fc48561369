"""Publishing into Egeria: what an analysis tells becomes wishes (`plan`), kept in the outbox until Egeria has them.

Pure up to `publisher`, which works the outbox off; the catalogue that it calls is given to it (`egeria.remote`).
"""

from .item import PlanItem, PlanKind
from .plan import plan
from .publisher import Publisher, Report
from .watch import Watch

__all__ = ["PlanItem", "PlanKind", "Publisher", "Report", "Watch", "plan"]
