from service.analysis.claims import counted, hardware, inference, memory, ring
from service.analysis.claims.claim import Claim


def computed_claims() -> tuple[Claim, ...]:
    """Every claim by its number, with what arithmetic alone says."""
    found = [
        claim for part in (counted, memory, ring, inference, hardware) for claim in part.claims()
    ]
    return tuple(sorted(found, key=lambda claim: claim.number))
