from service.analysis.recommendation.evidence import Basis, Ends, Errors, Evidence


def predicted(
    step_us: float, *, share: float = 0.1, band: float = 0.0, own: float = 0.0
) -> Evidence:
    """`band` is what predictions of other degrees err by alike."""
    sent = Ends(0, 0)
    compute = Ends(step_us * (1 - band), step_us * (1 + band))
    return Evidence(
        basis=Basis.PREDICTED,
        step_us=step_us,
        ends=compute,
        communication_share=share,
        label="layer",
        errors=Errors(compute=compute, communication=sent, own=own),
    )


def measured(*steps_us: float, share: float = 0.1) -> Evidence:
    return Evidence(
        basis=Basis.MEASURED,
        step_us=sorted(steps_us)[len(steps_us) // 2],
        ends=Ends(min(steps_us), max(steps_us)) if len(steps_us) > 1 else None,
        communication_share=share,
        label="layer",
        replicates={("sweep", r): step for r, step in enumerate(steps_us)},
    )
