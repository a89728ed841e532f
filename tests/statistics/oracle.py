"""What runs come to, by the definitions of docs/compare.md and Python's own statistics: runs in, figures out (JSON)."""

import json
import math
import statistics
import sys

WIDTHS = ["acyclic", "arbitrary"]
PROVEN = ["optimal", "infeasible"]


def reference(runs, of):
    """The value that gaps are measured against, and whether it is the optimum."""
    question = [run for run in runs if run["workload"] == of["workload"]]
    optima = [run["objective"] for run in question if run["scope"] == of["scope"] and run["status"] == "optimal"]
    if optima:
        return min(optima), True
    bounds = [run["bound"] for run in covering(runs, of) if run["bound"] is not None]
    return (max(bounds + [0.0]), False) if bounds else (None, False)


def covering(runs, of):
    """The runs whose proofs hold for every split that a run may find."""
    wide = WIDTHS[WIDTHS.index(of["scope"]) :]
    return [run for run in runs if run["workload"] == of["workload"] and run["scope"] in wide]


def has_no_split(runs, of):
    return any(run["status"] == "infeasible" for run in covering(runs, of))


def gap(objective, known):
    return 0.0 if objective - known <= 1e-9 * objective else (objective - known) / objective


def summary(runs, own):
    found = [run for run in own if run["objective"] is not None]
    known = [(run, *reference(runs, run)) for run in found]
    known = [(run, value, is_optimum) for run, value, is_optimum in known if value is not None]
    gaps = [gap(run["objective"], value) for run, value, _ in known]
    ratios = [run["objective"] / value if value else 1.0 for run, value, _ in known if value or not run["objective"]]

    def best(run):
        rivals = [r for r in runs if all(r[key] == run[key] for key in ("workload", "scope", "seed"))]
        return min(rival["objective"] for rival in rivals if rival["objective"] is not None)

    spreads = []
    for workload in {run["workload"] for run in found}:
        objectives = [run["objective"] for run in found if run["workload"] == workload]
        if len(objectives) > 1:
            spreads.append(gap(max(objectives), min(objectives)))
    times = [run["seconds"] + 1 for run in found]
    return {
        "runs": len(own),
        "found": len(found),
        "proven": sum(run["status"] in PROVEN for run in own),
        "wins": sum(run["objective"] == best(run) for run in found),
        "to_bounds": sum(not is_optimum for _, _, is_optimum in known),
        "mean_gap": statistics.fmean(gaps) if gaps else None,
        "median_gap": statistics.median(gaps) if gaps else None,
        "worst_gap": max(gaps, default=None),
        "mean_ratio": statistics.geometric_mean(ratios) if ratios else None,
        "spread": max(spreads, default=None),
        "seconds": statistics.geometric_mean(times) - 1 if times else None,
    }


def performance(run, kind):
    if kind == "objective":
        return run["objective"]
    return max(run["seconds"], 1e-3) if run["status"] in PROVEN else None


def share(runs, own, kind, factor):
    """The share of the tasks of a scope in which a method is within a factor of the best; None where there are none."""
    of_scope = [run for run in runs if run["scope"] == own[0]["scope"]]
    if kind == "objective":
        of_scope = [run for run in of_scope if not has_no_split(runs, run)]
    within, tasks = 0, {(run["workload"], run["seed"]) for run in of_scope}
    for task in tasks:
        rivals = [run for run in of_scope if (run["workload"], run["seed"]) == task]
        values = [value for value in (performance(run, kind) for run in rivals) if value is not None]
        mine = [performance(run, kind) for run in rivals if run["method"] == own[0]["method"]][0]
        within += mine is not None and mine <= factor * min(values) * (1 + 1e-9)
    return within / len(tasks) if tasks else None


def mean_gap(runs, own, seconds):
    """The mean gap of what was known after so many seconds."""
    gaps = []
    for run in own:
        known, _ = reference(runs, run)
        if known is None or has_no_split(runs, run):
            continue
        told = [incumbent for moment, incumbent in run["trace"] if moment <= seconds]
        gaps.append(gap(told[-1], known) if told else 1.0)
    return statistics.fmean(gaps) if gaps else None


def price(runs, workload):
    """Bounds of the ratio of the acyclic optimum to the arbitrary one; None where there is no acyclic split."""
    if any(has_no_split(runs, run) for run in runs if (run["workload"], run["scope"]) == (workload, "acyclic")):
        return None
    bests, bounds = [], []
    for width, scope in enumerate(WIDTHS):
        narrower, wider = WIDTHS[: width + 1], WIDTHS[width:]
        own = [run for run in runs if run["workload"] == workload]
        objectives = [run["objective"] for run in own if run["scope"] in narrower]
        claims = [run["bound"] for run in own if run["scope"] in wider]
        bests.append(min((objective for objective in objectives if objective is not None), default=None))
        bounds.append(max((bound for bound in claims if bound is not None), default=None))
    at_least = ratio(bounds[0], bests[1]) or 1.0
    return max(at_least, 1.0), ratio(bests[0], bounds[1])


def ratio(above, below):
    return None if above is None or below is None or below <= 0 else above / below


def main():
    asked = json.load(sys.stdin)
    runs, answers = asked["runs"], []
    taken = [run for run in runs if run["status"] != "unsupported"]
    for method, scope in dict.fromkeys((run["method"], run["scope"]) for run in taken):
        own = [run for run in taken if run["method"] == method and run["scope"] == scope]
        answers.append(
            {
                "group": [method, scope],
                "summary": summary(runs, own),
                "objective": [share(runs, own, "objective", factor) for factor in asked["factors"]],
                "proof": [share(runs, own, "proof", factor) for factor in asked["factors"]],
                "progress": [mean_gap(runs, own, seconds) for seconds in asked["moments"]],
            }
        )
    workloads = sorted({run["workload"] for run in runs})
    prices = [price(runs, workload) for workload in workloads]
    print(json.dumps({"groups": answers, "prices": [price for price in prices if price is not None]}))


assert math.isclose(gap(10.0, 8.0), 0.2)
main()
