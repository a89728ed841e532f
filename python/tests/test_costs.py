"""Cost models given as data: solvers and the verifier against all splits there are, worked out here."""

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy
import pytest

from dagsplit import (
    Costs,
    Instance,
    InvalidOption,
    KindCost,
    Node,
    Piece,
    Platform,
    Scope,
    Split,
    Transfer,
    compare,
    generate,
    solve,
    verify,
)

DEVICES = 2


def workload(rng: random.Random) -> Instance:
    """Up to six nodes for two accelerators with little memory and a CPU, whose ids are not their places."""
    count = rng.randint(2, 6)
    nodes = [Node(10 * place + 3, (1.0,), cpu_time=1.0, memory=1.0) for place in range(count)]
    pairs = itertools.combinations([node.id for node in nodes], 2)
    edges = [pair for pair in pairs if rng.random() < 0.4]
    return Instance(nodes, edges, Platform.uniform(DEVICES, memory=rng.choice([12.0, 20.0, None]), cpus=1))


def strange(rng: random.Random, instance: Instance) -> Costs:
    """Costs that no instance states: any pieces, transfers to some consumers, memory for what is cut."""
    count = len(instance.nodes)
    consumers = {node.id: sorted(v for u, v in instance.edges if u == node.id) for node in instance.nodes}
    transfers = []
    for source, all_of_them in consumers.items():
        for _ in range(rng.randint(0, 2)):
            chosen = [v for v in all_of_them if rng.random() < 0.7]
            transfers += [Transfer(source, chosen)] if chosen else []
    pieces = [Piece(*(rng.choice([0.0, 0.25, 1.0, 1.5]) for _ in range(3))) for _ in range(rng.randint(1, 4))]
    kind = KindCost(
        compute=[rng.choice([1.0, 2.0, 5.0, None]) for _ in range(count)],
        memory=[float(rng.randint(0, 4)) for _ in range(count)],
        transfers=[rng.choice([0.0, 0.5, 2.0]) for _ in transfers],
        pieces=pieces,
        boundary=[float(rng.randint(0, 3)) for _ in range(count)] if rng.random() < 0.5 else (),
    )
    return Costs([kind], [rng.choice([4.0, 9.0]) for _ in range(count)], transfers)


def load(instance: Instance, costs: Costs, device: int, held: set[int]) -> float | None:
    """The load of a device, worked out from the definition; None where it cannot hold these nodes."""
    places = [place for place, node in enumerate(instance.nodes) if node.id in held]
    kind = costs.accelerators[0]
    times = [costs.cpu[place] if device == DEVICES else kind.compute[place] for place in places]
    if None in times:
        return None
    compute = sum(time for time in times if time is not None)
    if device == DEVICES:
        return compute
    place_of = {node.id: place for place, node in enumerate(instance.nodes)}
    crossing = [place_of[u] for u, v in set(instance.edges) if (u in held) != (v in held)]
    memory = sum(kind.memory[place] for place in places) + sum(kind.boundary[u] for u in crossing if kind.boundary)
    limit = instance.platform.accelerators[0].memory
    if limit is not None and memory > limit:
        return None
    incoming = outgoing = 0.0
    for transfer, time in zip(costs.transfers, kind.transfers, strict=True):
        if any((v in held) != (transfer.source in held) for v in transfer.consumers):
            outgoing += time if transfer.source in held else 0.0
            incoming += 0.0 if transfer.source in held else time
    terms = (compute, incoming, outgoing)
    return max(p.compute * terms[0] + p.incoming * terms[1] + p.outgoing * terms[2] for p in kind.pieces)


def is_acyclic(instance: Instance, device_of: dict[int, int]) -> bool:
    """Whether the devices can be put in an order that every edge follows."""
    feeds = {(device_of[u], device_of[v]) for u, v in instance.edges if device_of[u] != device_of[v]}
    orders = itertools.permutations(range(DEVICES + 1))
    return any(all(order.index(u) < order.index(v) for u, v in feeds) for order in orders)


def optimum(instance: Instance, costs: Costs, scope: Scope) -> float | None:
    """The least largest load of all splits of the scope; None where there is no split."""
    ids = [node.id for node in instance.nodes]
    best: float | None = None
    for devices in itertools.product(range(DEVICES + 1), repeat=len(ids)):
        device_of = dict(zip(ids, devices, strict=True))
        held = [{id for id in ids if device_of[id] == device} for device in range(DEVICES + 1)]
        loads = [load(instance, costs, device, nodes) for device, nodes in enumerate(held) if nodes]
        known = [each for each in loads if each is not None]
        if len(known) == len(loads) and (scope == "arbitrary" or is_acyclic(instance, device_of)):
            best = max(known) if best is None else min(best, max(known))
    return best


@pytest.mark.parametrize(
    ("scope", "methods"), [("acyclic", ["dp", "brute-force"]), ("arbitrary", ["certify", "brute-force"])]
)
@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_all_splits(seed: int, scope: Scope, methods: list[str]) -> None:
    rng = random.Random(seed)
    instance = workload(rng)
    costs = strange(rng, instance)
    best = optimum(instance, costs, scope)
    # `certify` adds up the memory of nodes alone.
    for method in methods[bool(costs.accelerators[0].boundary) and scope == "arbitrary" :]:
        run = solve(instance, method, costs=costs, scope=scope)
        if best is None:
            assert run.status == "infeasible"
            continue
        assert run.status == "optimal" and run.objective == pytest.approx(best)
        assert run.split is not None and verify(instance, run.split, costs=costs, scope=scope) == []


def test_another_cost_is_another_objective(chain: Instance) -> None:
    costs = Costs.of(chain)
    doubled = replace(costs, accelerators=[replace(costs.accelerators[0], transfers=[2.0, 2.0, 2.0])])
    split = Split.of(chain, [[0, 1], [2, 3]])
    run = solve(chain, costs=doubled)
    assert (run.objective, solve(chain, costs=costs).objective) == (8.0, 7.0)
    assert run.split is not None and verify(chain, run.split, costs=doubled) == []
    [violation] = verify(chain, run.split)
    assert (violation.kind, violation.details["recomputed"]) == ("wrong-objective", 7.0)
    assert solve(chain, lambda _: split, costs=doubled).objective == 8.0


def test_boundary_bytes_are_held_against_the_memory(chain: Instance) -> None:
    costs = Costs.of(chain)
    kept = replace(costs, accelerators=[replace(costs.accelerators[0], boundary=[5.0] * 4)])
    assert solve(chain, costs=kept, memory=4.0).objective == 12.0
    [violation, *_] = verify(chain, [[0, 1], [2, 3]], costs=kept, memory=4.0)
    assert (violation.kind, violation.details["used"]) == ("memory-exceeded", 5.0)


def test_the_costs_of_an_instance_are_given_back() -> None:
    instance = generate("dnn", nodes=30, seed=3, training=True)
    for request in ({}, {"cost": "duplex"}, {"costs": "per-edge"}):
        asked: Any = request
        costs = Costs.of(instance, **asked)
        assert solve(instance, costs=costs).objective == solve(instance, **asked).objective
    assert Costs.of(instance, cost="overlap").overlapped_synchronisation
    transformer = generate("transformer", layers=1, training=True)
    recomputed = Costs.of(transformer, recomputation=2)
    assert recomputed.shared_memory and any(recomputed.accelerators[0].boundary)


def test_a_function_makes_the_costs_of_each_workload(chain: Instance) -> None:
    def idle(instance: Instance) -> Costs:
        """Nothing is paid for transfers."""
        costs = Costs.of(instance)
        free = [replace(kind, pieces=(Piece(1.0, 0.0, 0.0),)) for kind in costs.accelerators]
        return replace(costs, accelerators=free)

    def halves(instance: Instance) -> list[list[int]]:
        return [[0, 1], [2, 3]]

    other = Instance(chain.nodes[:2], chain.edges[:1], chain.platform, name="short")
    rows = compare([chain, other], ["dp"], costs=idle)
    assert [row.objective for row in rows] == [6.0, 3.0]
    assert compare([chain], ["dp", halves], costs=idle)[1].objective == 6.0


def test_arrays_are_lists(chain: Instance) -> None:
    costs = Costs.of(chain)
    kind = costs.accelerators[0]
    arrays: Any = {"memory": numpy.array(kind.memory), "transfers": numpy.full(3, 2.0)}
    assert solve(chain, costs=replace(costs, accelerators=[replace(kind, **arrays)])).objective == 8.0


def test_everything_that_is_wrong_is_listed(chain: Instance) -> None:
    costs = Costs.of(chain)
    kind = costs.accelerators[0]
    wrong = replace(
        costs,
        accelerators=[replace(kind, compute=[1.0, float("nan"), 1.0, 1.0], pieces=())],
        transfers=[replace(costs.transfers[0], consumers=[99]), *costs.transfers[1:]],
    )
    for call in (lambda: solve(chain, costs=wrong), lambda: verify(chain, [[0, 1, 2, 3]], costs=wrong)):
        with pytest.raises(InvalidOption) as raised:
            call()
        assert all(part in str(raised.value) for part in ("costs of kind 0", "NaN", "transfer 0", "piece"))
    short: list[Any] = [{"memory": [1.0]}, {"memory": [0.0] * 9}, {"compute": [1.0]}, {"transfers": []}]
    for fields in short:
        with pytest.raises(InvalidOption, match="costs of kind 0"):
            solve(chain, costs=replace(costs, accelerators=[replace(kind, **fields)]))
    with pytest.raises(InvalidOption, match="kinds of device"):
        solve(chain, costs=replace(costs, accelerators=[]))


def test_what_takes_no_data_says_so(chain: Instance) -> None:
    costs = Costs.of(chain)
    with pytest.raises(InvalidOption, match="costs takes no Costs here"):
        Split.of(chain, [[0, 1], [2, 3]]).export("megatron", costs=costs)
    with pytest.raises(InvalidOption, match="no such cost model"):
        solve(chain, costs="none")  # type: ignore[arg-type]
