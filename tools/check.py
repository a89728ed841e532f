#!/usr/bin/env python3
"""A second checker of proofs, dagsplit-proof/1, written from docs/proofs.md: slow, exact, without dependencies.

usage: check.py INSTANCE PROOF    (exit codes: 0 accepted, 1 refused, 2 usage, 3 a file cannot be read)
"""

import collections
import copy
import functools
import itertools
import json
import pathlib
import sys
from fractions import Fraction


class Refused(Exception):
    """The proof does not prove its claim."""


def ensure(condition, cause, error=Refused):
    if not condition:
        raise error(cause)


def whole(x):
    ensure(type(x) is int, f"{x!r} is no whole number", ValueError)
    return x


class Instance:
    """Nodes with exact costs, and distinct edges between positions."""

    def __init__(self, data):
        file = json.loads(data, parse_float=Fraction)
        nodes, edges = file["nodes"], file["edges"]
        if "schema" in file:
            ensure(file["schema"] == "dagsplit-instance/1", "the schema is unknown", ValueError)
            source, target, memory, backward, color = "source", "target", "memory", "backward", "color_class"
            self.classes = len(file["platform"]["accelerators"])
            self.times = [[*node["accelerator_times"], node.get("cpu_time")] for node in nodes]
            self.transfer = [node.get("transfer_time", 0) for node in nodes]
        else:
            source, target, memory, backward, color = "sourceId", "destId", "size", "isBackwardNode", "colorClass"
            self.classes, costs = 1, {edge["sourceId"]: edge["cost"] for edge in edges}
            are_equal = all(edge["cost"] == costs[edge["sourceId"]] for edge in edges)
            ensure(are_equal, "edges that leave one node cost differently", ValueError)
            self.times = [[n["fpgaLatency"] if n["supportedOnFpga"] else None, n["cpuLatency"]] for n in nodes]
            self.transfer = [costs.get(node["id"], 0) for node in nodes]
        self.memory = [node.get(memory, 0) for node in nodes]
        self.parameters = [node.get("parameter_bytes", 0) for node in nodes]
        self.spread = [node.get("time_spread") or 0 for node in nodes]
        self.backward = [bool(node.get(backward, False)) for node in nodes]
        self.color = [node.get(color) for node in nodes]
        position = {node["id"]: v for v, node in enumerate(nodes)}
        ensure(len(position) == len(nodes) > 0, "there is no node, or an id occurs twice", ValueError)
        self.edges = sorted({(position[edge[source]], position[edge[target]]) for edge in edges})


def strong_components(count, edges):
    """A mark for each vertex, the same for those on common cycles."""
    reached = [{v} | {b for a, b in edges if a == v} for v in range(count)]
    for middle, v in itertools.product(range(count), repeat=2):
        reached[v] |= reached[middle] if middle in reached[v] else set()
    return [min(w for w in reached[v] if v in reached[w]) for v in range(count)]


FIELDS = "format instance objective scope accelerators cpus transfer_scale replication digits claim order stability"
KNOWN = {"objective": ("throughput", "gpipe"), "scope": ("arbitrary", "convex", "acyclic")}


def power(numbers):
    """The least power of ten that makes all of them whole."""
    return next(10**p for p in range(400) if all((x * 10**p).denominator == 1 for x in numbers))


class Problem:
    """Units, order nodes, nets and kinds of devices, in whole numbers."""

    def __init__(self, instance, line):
        self.scope, self.is_gpipe = line["scope"], line["objective"] == "gpipe"
        kinds, alone = line["accelerators"], {"most": 1, "bandwidth": 1, "synchronisation": "added"}
        are_fields = set(line) <= {*FIELDS.split()} and all(set(kind) <= {"count", "memory", "load"} for kind in kinds)
        is_known = line["format"] == "dagsplit-proof/1" and all(line[field] in KNOWN[field] for field in KNOWN)
        ensure(are_fields and is_known, "the first line has something unknown", ValueError)
        self.is_late = [backward and self.is_gpipe for backward in instance.backward]
        ensure(len(kinds) == instance.classes, "the classes are not those of the instance")
        counts = [whole(n) for n in (line["cpus"], *(kind["count"] for kind in kinds))]
        stated = [*counts, line.get("transfer_scale") or 0, 36 - whole(line["digits"]), line["digits"], sum(counts) - 1]
        self.sequence = [whole(v) for v in line.get("order") or []]
        coefficients = [x for kind in kinds for piece in kind["load"] for x in piece]
        stated += [*self.sequence, *coefficients, *(kind.get("memory") or 0 for kind in kinds)]
        self.ring = ring = line.get("replication") or alone
        is_ring = whole(ring["most"]) > 0 < ring["bandwidth"] and ring["synchronisation"] in ("added", "overlapped")
        is_ring = is_ring and set(ring) <= set(alone) and not (self.is_gpipe and ring is not alone)
        ensure(min(stated) >= 0 and is_ring, "a number of the first line is out of range", ValueError)
        self.claim, self.time_unit, self.parts = whole(line["claim"]), 10 ** line["digits"], power(coefficients)
        self.make_units(instance)
        self.make_costs(instance, line)

    def make_units(self, instance):
        mark, number = [("node", v) if c is None else ("color", c) for v, c in enumerate(instance.color)], {}
        self.unit_of = [number.setdefault(m, len(number)) for m in mark]
        of_unit, forward = [[] for _ in number], {u for u, late in zip(self.unit_of, instance.backward) if not late}
        for v, unit in enumerate(self.unit_of):
            of_unit[unit] += [v] if not instance.backward[v] or unit not in forward and not of_unit[unit] else []
        edges, self.order_nodes = set(), {v: u for u, own in enumerate(of_unit) for v in own}
        for a, b in instance.edges:
            ends = {self.unit_of[a], self.unit_of[b]}
            if not instance.backward[a] and not instance.backward[b]:
                edges.add((a, b))
            elif instance.backward[a] and instance.backward[b] and len(ends) == 2 and not ends <= forward:
                edges.update(itertools.product(of_unit[self.unit_of[b]], of_unit[self.unit_of[a]]))
        if self.scope != "convex":
            edges = edges if self.scope == "acyclic" else set()
            component = strong_components(len(number), {(self.unit_of[a], self.unit_of[b]) for a, b in edges})
            number, marks = {}, [component[unit] for unit in self.unit_of]
            self.unit_of = [number.setdefault(mark, len(number)) for mark in marks]
            first = [self.unit_of.index(u) for u in range(len(number))]
            self.order_nodes = {v: u for u, v in enumerate(first)}
            edges = {(first[self.unit_of[a]], first[self.unit_of[b]]) for a, b in edges}
        self.units, self.order_edges = len(number), {(a, b) for a, b in edges if a != b}

    def units_of_time(self, time):
        times = Fraction(time * self.time_unit, self.parts)
        ensure(times.denominator == 1, "what a coefficient makes of a time is no whole number of units")
        return int(times)

    def make_costs(self, instance, line):
        self.nets, scale = [], 1 if line.get("transfer_scale") is None else line["transfer_scale"]
        for a in sorted({a for a, _ in instance.edges}):
            sinks = {self.unit_of[b] for source, b in instance.edges if source == a} - {self.unit_of[a]}
            cost = self.units_of_time(instance.transfer[a] * scale)
            self.nets += [(self.unit_of[a], frozenset(sinks), cost, self.is_late[a])] if sinks and cost else []
        limits = [kind.get("memory") or 0 for kind in line["accelerators"]]
        self.byte = power([*instance.memory, *instance.parameters, *limits, self.ring["bandwidth"]])
        self.memory, self.parameters = [0] * self.units, [0] * self.units
        for v, unit in enumerate(self.unit_of):
            self.memory[unit] += int(instance.memory[v] * self.byte)
            self.parameters[unit] += int(instance.parameters[v] * self.byte)
        cpus, self.kinds = {"count": line["cpus"], "load": [[1, 0, 0]]}, []
        for k, kind in enumerate([*line["accelerators"], cpus]):
            time, late = [0] * self.units, [0] * self.units
            for v, unit in enumerate(self.unit_of):
                own = instance.times[v][k]
                time[unit] = None if own is None or time[unit] is None else time[unit] + self.units_of_time(own)
                late[unit] += self.units_of_time(own or 0) if self.is_late[v] else 0
            limit = int((kind.get("memory") or 0) * self.byte) * (10**9 + 1) // 10**9
            capacity = sum(self.memory) if kind.get("memory") is None else limit
            replicas = min(self.ring["most"], kind["count"]) if k < instance.classes else 1
            own = {"time": time, "late": late, "capacity": capacity, "replicas": replicas}
            self.kinds.append(kind | own | {"load": [[int(x * self.parts) for x in piece] for piece in kind["load"]]})

    def loads(self, kind, r, passes, parameters):
        """The load of each pass of `r` devices with these sums."""
        value = lambda terms: max(sum(c * t for c, t in zip(piece, terms)) for piece in kind["load"])
        first, second = (Fraction(value(terms), r) for terms in passes)
        moved = Fraction(2 * (r - 1) * parameters * self.time_unit, r) / self.ring["bandwidth"] / self.byte
        return (first + moved if self.ring["synchronisation"] == "added" else max(first, moved)), second

    def terms(self, kind, units):
        """Compute, in and out of each pass, all in the first one where the objective does not tell them apart."""
        late = sum(kind["late"][u] for u in units)
        passes = [[sum(kind["time"][u] for u in units) - late, 0, 0], [late, 0, 0]]
        for source, sinks, cost, is_late in self.nets:
            passes[is_late][1] += cost if source not in units and sinks & units else 0
            passes[is_late][2] += cost if source in units and not sinks <= units else 0
        return passes

    def pays(self, unit, ideal):
        """Whether a unit pays for its edge where it joins an ideal, on each kind that has devices and in each pass."""
        more = [[0, 0], [0, 0]]
        for source, sinks, cost, is_late in (net for net in self.nets if unit == net[0] or unit in net[1]):
            later = sinks - ideal - {unit}
            sent, given = (bool(later), -bool(sinks & ideal)), (-(not later), 0) if source in ideal else (0, 1)
            more[is_late] = [known + x * cost for known, x in zip(more[is_late], sent if source == unit else given)]
        able = [kind for kind in self.kinds if kind["count"] and kind["time"][unit] is not None]
        passes = lambda kind: zip((kind["time"][unit] - kind["late"][unit], kind["late"][unit]), more)
        return all(a * t >= b * i + c * o for kind in able for t, (i, o) in passes(kind) for a, b, c in kind["load"])

    def unit(self, node):
        ensure(0 <= whole(node) < len(self.unit_of), f"there is no node {node}")
        return self.unit_of[node]


def work_of(problem, weights):
    are_right = len(weights) == len(problem.kinds) and all(0 <= whole(w) <= 2**40 for w in weights)
    ensure(are_right, "there has to be a weight from 0 to 2^40 for each kind")
    price = lambda kind, w: w * max(piece[0] for piece in kind["load"])
    usable = [(kind, price(kind, w)) for kind, w in zip(problem.kinds, weights) if kind["count"]]
    least = lambda u: min((p * kind["time"][u] for kind, p in usable if kind["time"][u] is not None), default=2**100)
    of_device = [w * (problem.claim - (kind["replicas"] <= 1)) for kind, w in zip(problem.kinds, weights)]
    return [least(u) for u in range(problem.units)], of_device


def check_work(problem, line, _):
    of_unit, of_device = work_of(problem, line["weights"])
    most = sum(kind["count"] * w for kind, w in zip(problem.kinds, of_device))
    ensure(sum(of_unit) > most, "the work does not exceed what devices can do")


def least_cut(problem, kind, piece, group):
    """The least value of a piece over the sets that hold the group: augmenting paths along shortest ones."""
    unlimited, residual = 2**124, collections.defaultdict(collections.Counter)
    arcs = [("source", u, unlimited) for u in group]
    arcs += [(u, "sink", unlimited if time is None else piece[0] * time) for u, time in enumerate(kind["time"])]
    for i, (source, sinks, cost, _) in enumerate(problem.nets):
        arcs += [(("in", i), source, piece[1] * cost), (source, ("out", i), piece[2] * cost)]
        arcs += [arc for v in sinks for arc in ((v, ("in", i), unlimited), (("out", i), v, unlimited))]
    for a, b, capacity in arcs:
        residual[a][b] += capacity
    total, sent = 0, 1
    while sent and total < unlimited:
        before, queue, path = {"source": None}, ["source"], ["sink"]
        for v in queue:
            new = [w for w, rest in residual[v].items() if rest > 0 and w not in before]
            before.update((w, v) for w in new)
            queue += new
        while path[-1] in before:
            path.append(before[path[-1]])
        sent = min((residual[a][b] for b, a in zip(path, path[1:-1])), default=0)
        for b, a in zip(path, path[1:-1]):
            residual[a][b] -= sent
            residual[b][a] += sent
        total += sent
    return total


def check_crowd(problem, line, _decisions):
    units, most = [problem.unit(node) for node in line["nodes"]], line["most"]
    are_right = len(set(units)) == len(units) and len(most) == len(problem.kinds)
    ensure(are_right, "a unit counts twice, or there is no number for a kind")
    held = sum(kind["count"] * whole(m) for kind, m in zip(problem.kinds, most))
    ensure(len(units) > held and min(most) >= 0, "the devices can hold as many")
    for kind, m in zip(problem.kinds, most):
        for some in itertools.combinations(units, m + 1) if kind["count"] else ():
            if sum(problem.memory[u] for u in some) <= kind["capacity"] and None not in [kind["time"][u] for u in some]:
                cuts = (least_cut(problem, kind, piece, some) for piece in kind["load"])
                ensure(any(cut >= problem.claim for cut in cuts), f"a device may hold the units {some}")


def check_ideals(problem, line, _decisions):
    """All chains, stage by stage, by sets: the plainest program there is."""
    ensure(problem.scope == "acyclic", "chains of ideals are the acyclic splits alone")
    of_unit, of_device = work_of(problem, line["weights"])
    between = {(problem.unit_of[a], problem.unit_of[b]) for a, b in problem.order_edges}
    before = [{a for a, b in between if b == u} for u in range(problem.units)]
    all_units, reached = frozenset(range(problem.units)), {frozenset(): {((0,) * len(problem.kinds), (0, 0))}}
    is_as_good = lambda a, b: all(x <= y for x, y in zip(a[0] + a[1], b[0] + b[1]))
    for size in range(problem.units):
        for ideal in [i for i in reached if len(i) == size]:
            paying = [u for u in all_units - ideal if before[u] <= ideal and problem.pays(u, ideal)]
            better = [use for u in paying for use in reached.get(ideal | {u}, ())]
            uses = [use for use in reached.pop(ideal) if not any(is_as_good(other, use) for other in better)]
            for k, kind in [(k, kind) for k, kind in enumerate(problem.kinds) if kind["count"] and uses]:
                for larger, replicas, loads in stages(problem, kind, ideal, before):
                    rest = sum(of_unit[u] for u in all_units - larger)
                    for use, largest in uses:
                        use = tuple(n + replicas * (i == k) for i, n in enumerate(use))
                        left = [kind["count"] - n for kind, n in zip(problem.kinds, use)]
                        largest = tuple(map(max, largest, loads)) if problem.is_gpipe else largest
                        may_end = sum(n * w for n, w in zip(left, of_device)) >= rest
                        if min(left) >= 0 and may_end and sum(largest) < problem.claim:
                            reached.setdefault(larger, set()).add((use, largest))
    ensure(all_units not in reached, "a chain of ideals has every load within the target")


def stages(problem, kind, ideal, before):
    """The ideals above one up to which a stage is within the target, each with a number of replicas and its loads."""
    able, seen, stack = [u for u, time in enumerate(kind["time"]) if time is not None], {ideal}, [ideal]
    while stack:
        current = stack.pop()
        for larger in {current | {u} for u in able if before[u] <= current} - seen:
            seen.add(larger)
            stage = larger - ideal
            parameters, terms = sum(problem.parameters[v] for v in stage), problem.terms(kind, stage)
            fits = sum(problem.memory[v] for v in stage) <= kind["capacity"]
            paid = lambda factor: [[compute, factor * into, factor * out] for compute, into, out in terms]
            loads = lambda r, factor: problem.loads(kind, r, paid(factor), parameters)
            is_within = lambda r, factor: fits and sum(loads(r, factor)) < problem.claim
            counts = [r for r in range(1, kind["replicas"] + 1) if is_within(r, 0)]
            stack += [larger] if counts else []
            yield from ((larger, r, loads(r, 1)) for r in counts if is_within(r, 1))


def check_profits(problem, line, decisions):
    counts = len(problem.unit_of), len(problem.kinds)
    ensure((len(line["profits"]), len(line["kinds"])) == counts, "there are not as many profits or kinds")
    profit = [0] * problem.units
    for unit, value in zip(problem.unit_of, line["profits"]):
        profit[unit] += whole(value)
    held = sum(kind["count"] * whole(own["most"]) for kind, own in zip(problem.kinds, line["kinds"]))
    ensure(sum(profit) > held, "the profits do not exceed what the devices hold")
    for k, own in [(k, own) for k, own in enumerate(line["kinds"]) if problem.kinds[k]["count"]]:
        ensure(0 <= own["most"] >= most_profit(problem, k, own, profit, decisions), f"kind {k} earns more")


def most_profit(problem, k, own, profit, decisions):
    """The largest profit above what is claimed of a set within the capacity, else at most that."""
    kind, weights, (numerator, denominator) = problem.kinds[k], own["weights"], own["price"]
    are_right = len(weights) == len(kind["load"]) and all(0 <= whole(w) <= 2**40 for w in weights)
    ensure(are_right and whole(numerator) >= 0 < whole(denominator), "a weight or a price is out of range")
    per = [sum(w * piece[i] for w, piece in zip(weights, kind["load"])) for i in range(3)]
    moves = moves_of(problem, k, per, profit, decisions)
    worth = lambda used, gain: denominator * gain - numerator * used
    future = [{(): 0}]
    for move in reversed(moves):
        best = {}
        for state, to, used, _, gain in (found for found in move if found[1] in future[0]):
            best[state] = max(worth(used, gain) + future[0][to], best.get(state, float("-inf")))
        future.insert(0, best)
    capacity, fronts = sum(weights) * (problem.claim - 1), {(): [(0, 0, 0)]}
    bound = worth(capacity, own["most"])
    for i, move in enumerate(moves):
        following = {}
        for state, to, *more in move:
            for entry in fronts.get(state, ()) if to in future[i + 1] else ():
                u, s, g = map(sum, zip(entry, more))
                if u <= capacity and s <= kind["capacity"] and worth(u, g) + future[i + 1][to] > bound:
                    following.setdefault(to, []).append((u, s, g))
        fronts = {state: undominated(entries) for state, entries in following.items()}
    return max((gain for entries in fronts.values() for _, _, gain in entries), default=0)


def undominated(entries):
    kept, least = [], []
    for used, size, gain in sorted(entries, key=lambda entry: (entry[0], entry[1], -entry[2])):
        if not any(s <= size and g >= gain for s, g in least):
            kept.append((used, size, gain))
            least = [(s, g) for s, g in least if s < size or g > gain] + [(size, gain)]
    return kept


def moves_of(problem, k, per, profit, decisions):
    """For each order node all moves: from a state to another one, with use, size and profit."""
    sequence = dict.fromkeys(v for v in problem.sequence if problem.unit(v) == problem.order_nodes.get(v))
    ensure(len(sequence) == len(problem.order_nodes), "the order lacks a node")
    at = {v: i for i, v in enumerate(sequence)}
    first = {problem.unit_of[v]: i for v, i in reversed(at.items())}
    pairs = [one for one in decisions if one[0] in ("together", "apart")]
    nets = enumerate(problem.nets if per[1] or per[2] else ())
    ends = [(e, u) for e, (source, sinks, *_) in nets for u in (source, *sinks)]
    nets = {unit: [e for e, u in ends if u == unit] for unit in first}
    # Each fact with the steps that ask for it, the last one last.
    asked = [(fact, i) for v, i in at.items() for fact in (("label", v), ("unit", problem.unit_of[v]))]
    asked += [(("label", v), at[w]) for edge in problem.order_edges for v, w in (edge, edge[::-1])]
    asked += [(("unit", u), first[v]) for _, *pair in pairs for u, v in (pair, pair[::-1])]
    asked += [(("net", e), first[u]) for e, u in ends]
    needed, kind = dict(sorted(asked, key=lambda one: one[1])), problem.kinds[k]
    barred = {u for name, u, v in decisions if name == "on" and v != k or name == "not_on" and v == k}
    barred |= {u for u, time in enumerate(kind["time"]) if time is None}
    takes_room = sum(problem.memory) > kind["capacity"]
    pays = lambda where, ins, outs: where is True and outs or where is False and ins

    def extend(state, i, node, label):
        """The state after an order node has a label, and what that adds; nothing where it may not have it."""
        facts, unit, inside, used = dict(state), problem.unit_of[node], label == 1, 0
        labels = [(v, x) for (what, v), x in state if what == "label"]
        is_first, added = ("unit", unit) not in facts, (0, 0, 0)
        others = [(name, facts.get(("unit", u + v - unit))) for name, u, v in pairs if is_first and unit in (u, v)]
        is_barred = any(other == (not inside) if name == "together" else other and inside for name, other in others)
        falls = any((v, node) in edges and x > label or (node, v) in edges and x < label for v, x in labels)
        if falls or is_barred or facts.get(("unit", unit), inside) != inside or inside and unit in barred:
            return None
        for e in nets[unit] if is_first else ():
            source, _, cost, _ = problem.nets[e]
            known = where, ins, outs = facts.get(("net", e), (None, False, False))
            new = (inside, ins, outs) if unit == source else (where, ins or inside, outs or not inside)
            used += cost * (per[2] if new[0] else per[1]) if pays(*new) and not pays(*known) else 0
            facts["net", e] = new
        if is_first and inside:
            added = per[0] * kind["time"][unit], problem.memory[unit] if takes_room else 0, profit[unit]
        facts["unit", unit], facts["label", node] = inside, label
        return tuple(sorted((fact, x) for fact, x in facts.items() if needed[fact] > i)), used + added[0], *added[1:]

    edges, labels = problem.order_edges, (0, 1) if problem.scope == "arbitrary" else (0, 1, 2)
    states, moves = [()], []
    for step in enumerate(sequence):
        tried = ((state, extend(state, *step, label)) for state in states for label in labels)
        moves.append([(state, *found) for state, found in tried if found])
        states = list(dict.fromkeys(move[1] for move in moves[-1]))
    return moves


REASONS = {"work": (check_work, {"weights"}), "crowd": (check_crowd, {"nodes", "most"})}
REASONS |= {"ideals": (check_ideals, {"weights"}), "profits": (check_profits, {"profits", "kinds"})}
OPPOSITE = {"on": "not_on", "not_on": "on", "together": "apart", "apart": "together"}


def decision(problem, entry):
    name, unit, is_of_kind = entry[0], problem.unit(entry[1]), entry[0] in ("on", "not_on")
    other = whole(entry[2]) if is_of_kind else problem.unit(entry[2])
    ensure(0 <= other < len(problem.kinds) if is_of_kind else name in OPPOSITE and unit != other, "no such decision")
    return name, *((unit, other) if is_of_kind else sorted((unit, other)))


def prove(problem, lines):
    """Whether numbered lines show that no split is below the problem's claim."""
    proven = set()
    for number, line in lines:
        reason, fields = REASONS[line["reason"]]
        ensure(set(line) <= fields | {"reason", "under", "device"}, f"line {number} has unknown fields", ValueError)
        decisions = tuple(decision(problem, entry) for entry in line.get("under") or [])
        try:
            is_alone = all(kind["replicas"] <= 1 for kind in problem.kinds)
            ensure(is_alone or "weights" in fields, "it says nothing of replicas")
            reason(problem, line, decisions)
        except Refused as cause:
            raise Refused(f"line {number}: {cause}") from None
        proven.add(decisions)
    other_side = lambda case: (*case[:-1], (OPPOSITE[case[-1][0]], *case[-1][1:]))
    while new := {case[:-1] for case in proven if case and other_side(case) in proven} - proven:
        proven |= new
    ensure(() in proven, "a case is missing")


def check_split(problem, devices, sets):
    """Whether a split is one that is asked for."""
    listed = sorted(whole(v) for device in devices for v in device["nodes"])
    is_whole = listed == list(range(len(problem.unit_of))) and sum(map(len, sets)) == problem.units
    taken = collections.Counter(whole(device["kind"]) for device in devices)
    are_there = all(0 <= k < len(problem.kinds) and n <= problem.kinds[k]["count"] for k, n in taken.items())
    ensure(is_whole and are_there, "line 1: the split does not hold each unit once, on devices that are there")
    for kind, units in ((problem.kinds[device["kind"]], units) for device, units in zip(devices, sets)):
        fits = sum(problem.memory[u] for u in units) <= kind["capacity"]
        ensure(fits and None not in [kind["time"][u] for u in units], "line 1: a device cannot hold its nodes")
    holder = {u: d for d, units in enumerate(sets) for u in units}
    for drawn in [[d] for d in set(holder.values())] if problem.scope == "convex" else [range(len(sets))]:
        vertex = [d if (d := holder[unit]) in drawn else len(sets) + v for v, unit in enumerate(problem.unit_of)]
        edges = {(vertex[a], vertex[b]) for a, b in problem.order_edges}
        component = strong_components(len(sets) + len(vertex), edges)
        ensure(all(component.count(component[d]) == 1 for d in drawn), "line 1: the split is not of the scope")


def scenario(instance, spread, kind, nodes):
    """The instance where what a device pays for takes as long as it may, and all else as short."""
    part = lambda time, measured: measured if spread == "measured" else time * spread
    move = lambda time, measured, up: max(0, time + part(time, measured) * (1 if up else -1))
    cut = {a for a, b in instance.edges if kind < instance.classes and (a in nodes) != (b in nodes)}
    moved = copy.copy(instance)
    moved.transfer = [move(time, 0, v in cut) for v, time in enumerate(instance.transfer)]
    measured = lambda v, k: instance.spread[v] if k < instance.classes else 0
    one = lambda v, k, t: None if t is None else move(t, measured(v, k), v in nodes and k == kind)
    moved.times = [[one(v, k, t) for k, t in enumerate(own)] for v, own in enumerate(instance.times)]
    return moved


def scenarios(instance, line, problem):
    """What is to be proven of stability: one problem for each device of the split, by its number."""
    spread, devices = line["stability"]["spread"], line["stability"]["devices"]
    is_known = spread == "measured" or type(spread) in (int, Fraction) and spread >= 0
    are_fields = len(line["stability"]) == 2 and all(set(one) == {"kind", "nodes"} for one in devices)
    ensure(is_known and are_fields, "the stability has something unknown", ValueError)
    loads = [kind["load"] for kind in line["accelerators"]]
    is_alike = all(len(load) == 1 and load[0][1:] == [loads[0][0][1]] * 2 for load in loads)
    is_simple = is_alike and not problem.is_gpipe and line.get("replication") is None
    ensure(is_simple, "line 1: stability is of throughput, no replicas, and devices that pay the same")
    sets = [{problem.unit(v) for v in device["nodes"]} for device in devices]
    check_split(problem, devices, sets)
    own = [Problem(scenario(instance, spread, device["kind"], set(device["nodes"])), line) for device in devices]
    for scene, device, units in zip(own, devices, sets):
        kind = scene.kinds[device["kind"]]
        scene.claim = int(scene.loads(kind, 1, scene.terms(kind, units), 0)[0]) - problem.claim
    return dict(enumerate(own))


def check(instance_data, proof_text):
    first, *lines = [json.loads(line, parse_float=Fraction) for line in proof_text.splitlines()]
    step = lambda value, byte: (value ^ byte) * 0x100000001B3 % 2**64
    fnv = f"{functools.reduce(step, instance_data, 0xCBF29CE484222325):016x}"
    ensure(first["instance"] == fnv, "line 1: it is about another instance")
    instance = Instance(instance_data)
    problem = Problem(instance, first)
    own = {None: problem} if first.get("stability") is None else scenarios(instance, first, problem)
    are_there = all(line.get("device") in own and type(line.get("device")) in map(type, own) for line in lines)
    ensure(are_there, "a line names one of the devices of the first line, where that has some", ValueError)
    for device, problem in own.items():
        if device is None or problem.claim > 0:
            prove(problem, [one for one in enumerate(lines, 2) if one[1].get("device") == device])
    what = "every split has a load of at least" if None in own else "the split is above the best one by at most"
    return f"{what} {first['claim']} · 10^-{first['digits']}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        instance, proof = (pathlib.Path(path).read_bytes() for path in sys.argv[1:])
        print("accepted:", check(instance, proof.decode()))
    except Refused as cause:
        return f"refused: {cause}"
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as cause:
        print(f"unreadable: {cause!r}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
