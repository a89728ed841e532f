#!/usr/bin/env python3
"""A second checker of proofs, dagsplit-proof/1, written from docs/proofs.md: slow, exact, without dependencies.

usage: check.py INSTANCE PROOF    (exit codes: 0 accepted, 1 refused, 2 usage, 3 a file cannot be read)
"""

import bisect
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


def refuse_unless(condition, cause):
    if not condition:
        raise Refused(cause)


def whole(x):
    if type(x) is not int:
        raise ValueError(f"{x!r} is no whole number")
    return x


def fnv(data):
    step = lambda value, byte: (value ^ byte) * 0x100000001B3 % 2**64
    return f"{functools.reduce(step, data, 0xCBF29CE484222325):016x}"


class Instance:
    """Nodes with exact costs, and distinct edges between positions."""

    def __init__(self, data):
        file = json.loads(data, parse_float=Fraction)
        nodes, edges = file["nodes"], file["edges"]
        if "schema" in file:
            if file["schema"] != "dagsplit-instance/1":
                raise ValueError("the schema is unknown")
            source, target, memory, backward, color = "source", "target", "memory", "backward", "color_class"
            self.classes = len(file["platform"]["accelerators"])
            self.times = [[*node["accelerator_times"], node.get("cpu_time")] for node in nodes]
            self.transfer = [node.get("transfer_time", 0) for node in nodes]
        else:
            source, target, memory, backward, color = "sourceId", "destId", "size", "isBackwardNode", "colorClass"
            self.classes, costs = 1, {}
            for edge in edges:
                if costs.setdefault(edge["sourceId"], edge["cost"]) != edge["cost"]:
                    raise ValueError("edges that leave one node cost differently")
            self.times = [[n["fpgaLatency"] if n["supportedOnFpga"] else None, n["cpuLatency"]] for n in nodes]
            self.transfer = [costs.get(node["id"], 0) for node in nodes]
        self.memory = [node.get(memory, 0) for node in nodes]
        self.parameters = [node.get("parameter_bytes", 0) for node in nodes]
        self.spread = [node.get("time_spread") or 0 for node in nodes]
        self.backward = [bool(node.get(backward, False)) for node in nodes]
        self.color = [node.get(color) for node in nodes]
        position = {node["id"]: v for v, node in enumerate(nodes)}
        if len(position) < len(nodes) or not nodes:
            raise ValueError("there is no node, or an id occurs twice")
        self.edges = sorted({(position[edge[source]], position[edge[target]]) for edge in edges})


def strong_components(count, edges):
    """A mark for each vertex, the same for those on common cycles."""
    reached = [{v} | {b for a, b in edges if a == v} for v in range(count)]
    for middle, v in itertools.product(range(count), repeat=2):
        reached[v] |= reached[middle] if middle in reached[v] else set()
    return [min(w for w in reached[v] if v in reached[w]) for v in range(count)]


FIELDS = "format instance objective scope accelerators cpus transfer_scale replication digits claim order stability"
FIELDS = {"line": set(FIELDS.split()), "class": {"count", "memory", "load"}}


def power(numbers):
    """The least power of ten that makes all of them whole."""
    return next(10**p for p in range(400) if all((x * 10**p).denominator == 1 for x in numbers))


class Problem:
    """Units, order nodes, nets and kinds of devices, in whole numbers."""

    def __init__(self, instance, line):
        self.scope, self.is_gpipe = line["scope"], line["objective"] == "gpipe"
        is_known = self.scope in ("arbitrary", "convex", "acyclic") and line["objective"] in ("throughput", "gpipe")
        unknown = set(line) - FIELDS["line"] or any(set(kind) - FIELDS["class"] for kind in line["accelerators"])
        if unknown or line["format"] != "dagsplit-proof/1" or not is_known:
            raise ValueError("the first line has something unknown")
        self.is_late = [backward and self.is_gpipe for backward in instance.backward]
        refuse_unless(len(line["accelerators"]) == instance.classes, "the classes are not those of the instance")
        self.check_range(line)
        coefficients = [x for kind in line["accelerators"] for piece in kind["load"] for x in piece]
        self.claim, self.time_unit, self.parts = whole(line["claim"]), 10 ** line["digits"], power(coefficients)
        self.sequence, scale = line.get("order") or [], line.get("transfer_scale")
        self.make_units(instance)
        self.make_nets(instance, 1 if scale is None else scale)
        self.make_kinds(instance, line)

    def check_range(self, line):
        kinds, alone = line["accelerators"], {"most": 1, "bandwidth": 1, "synchronisation": "added"}
        counts = [whole(n) for n in (line["cpus"], *(kind["count"] for kind in kinds))]
        stated = [*counts, line.get("transfer_scale") or 0, 36 - whole(line["digits"]), line["digits"], sum(counts) - 1]
        stated += map(whole, line.get("order") or [])
        stated += [x for kind in kinds for x in (kind.get("memory") or 0, *itertools.chain(*kind["load"]))]
        self.ring = ring = line.get("replication") or alone
        is_ring = whole(ring["most"]) > 0 < ring["bandwidth"] and ring["synchronisation"] in ("added", "overlapped")
        if min(stated) < 0 or not is_ring or set(ring) - set(alone) or self.is_gpipe and ring is not alone:
            raise ValueError("a number of the first line is out of range")

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
        refuse_unless(times.denominator == 1, "what a coefficient makes of a time is no whole number of units")
        return int(times)

    def make_nets(self, instance, scale):
        self.nets = []
        for a in sorted({a for a, _ in instance.edges}):
            sinks = {self.unit_of[b] for source, b in instance.edges if source == a} - {self.unit_of[a]}
            cost = self.units_of_time(instance.transfer[a] * scale)
            self.nets += [(self.unit_of[a], frozenset(sinks), cost, self.is_late[a])] if sinks and cost else []

    def make_kinds(self, instance, line):
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
        refuse_unless(0 <= whole(node) < len(self.unit_of), f"there is no node {node}")
        return self.unit_of[node]


def work_of(problem, weights):
    are_right = len(weights) == len(problem.kinds) and all(0 <= whole(w) <= 2**40 for w in weights)
    refuse_unless(are_right, "there has to be a weight from 0 to 2^40 for each kind")
    present = [(kind, w) for kind, w in zip(problem.kinds, weights) if kind["count"]]
    usable = [(kind, w * max(piece[0] for piece in kind["load"])) for kind, w in present]
    least = lambda u: min((p * kind["time"][u] for kind, p in usable if kind["time"][u] is not None), default=2**100)
    of_device = [w * (problem.claim - (kind["replicas"] <= 1)) for kind, w in zip(problem.kinds, weights)]
    return [least(u) for u in range(problem.units)], of_device


def check_work(problem, line, _):
    of_unit, of_device = work_of(problem, line["weights"])
    most = sum(kind["count"] * w for kind, w in zip(problem.kinds, of_device))
    refuse_unless(sum(of_unit) > most, "the work does not exceed what devices can do")


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
    refuse_unless(are_right, "a unit counts twice, or there is no number for a kind")
    refuse_unless(all(kind["replicas"] <= 1 for kind in problem.kinds), "a crowd says nothing of replicas")
    held = sum(kind["count"] * whole(m) for kind, m in zip(problem.kinds, most))
    refuse_unless(len(units) > held and min(most) >= 0, "the devices can hold as many")
    for kind, m in zip(problem.kinds, most):
        for some in itertools.combinations(units, m + 1) if kind["count"] else ():
            if sum(problem.memory[u] for u in some) <= kind["capacity"] and None not in [kind["time"][u] for u in some]:
                cuts = (least_cut(problem, kind, piece, some) for piece in kind["load"])
                refuse_unless(any(cut >= problem.claim for cut in cuts), f"a device may hold the units {some}")


def check_ideals(problem, line, _decisions):
    """All chains, stage by stage, by sets: the plainest program there is."""
    refuse_unless(problem.scope == "acyclic", "chains of ideals are the acyclic splits alone")
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
    refuse_unless(all_units not in reached, "a chain of ideals has every load within the target")


def stages(problem, kind, ideal, before):
    """The ideals above one up to which a stage is within the target, each with a number of replicas and its loads."""
    seen, stack = {ideal}, [ideal]
    while stack:
        current = stack.pop()
        for u in range(problem.units):
            larger = current | {u}
            if not before[u] <= current or larger in seen or kind["time"][u] is None:
                continue
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
    refuse_unless((len(line["profits"]), len(line["kinds"])) == counts, "there are not as many profits or kinds")
    refuse_unless(all(kind["replicas"] <= 1 for kind in problem.kinds), "profits say nothing of replicas")
    profit = [0] * problem.units
    for unit, value in zip(problem.unit_of, line["profits"]):
        profit[unit] += whole(value)
    held = sum(kind["count"] * whole(own["most"]) for kind, own in zip(problem.kinds, line["kinds"]))
    refuse_unless(sum(profit) > held, "the profits do not exceed what the devices hold")
    for k, own in [(k, own) for k, own in enumerate(line["kinds"]) if problem.kinds[k]["count"]]:
        refuse_unless(0 <= own["most"] >= most_profit(problem, k, own, profit, decisions), f"kind {k} earns more")


def most_profit(problem, k, own, profit, decisions):
    """The largest profit above what is claimed of a set within the capacity, else at most that."""
    kind, weights, (numerator, denominator) = problem.kinds[k], own["weights"], own["price"]
    refuse_unless(len(weights) == len(kind["load"]), "there has to be a weight for each piece")
    refuse_unless(all(0 <= whole(w) <= 2**40 for w in weights), "a weight is out of range")
    refuse_unless(whole(numerator) >= 0 < whole(denominator), "a price is out of range")
    per = [sum(w * piece[i] for w, piece in zip(weights, kind["load"])) for i in range(3)]
    moves = moves_of(problem, k, per, profit, decisions)
    worth = lambda used, gain: denominator * gain - numerator * used
    future = [{(): 0}]
    for move in reversed(moves):
        best = {}
        for state, to, used, _, gain in (found for found in move if found[1] in future[0]):
            best[state] = max(worth(used, gain) + future[0][to], best.get(state, float("-inf")))
        future.insert(0, best)
    capacity = sum(weights) * (problem.claim - 1)
    bound = worth(capacity, own["most"])
    fronts = {(): [(0, 0, 0)]}
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
    kept, sizes, gains = [], [], []
    for used, size, gain in sorted(entries, key=lambda entry: (entry[0], entry[1], -entry[2])):
        at = bisect.bisect_right(sizes, size)
        if at == 0 or gains[at - 1] < gain:
            kept.append((used, size, gain))
            beaten = slice(bisect.bisect_left(sizes, size), bisect.bisect_right(gains, gain))
            sizes[beaten], gains[beaten] = [size], [gain]
    return kept


def plan(problem, per, decisions):
    """The order nodes in turn, the nets of each unit, and the step until which each fact is needed."""
    sequence = dict.fromkeys(v for v in problem.sequence if problem.unit(v) == problem.order_nodes.get(v))
    refuse_unless(len(sequence) == len(problem.order_nodes), "the order lacks a node")
    at = {v: i for i, v in enumerate(sequence)}
    first = {problem.unit_of[v]: i for v, i in reversed(at.items())}
    asked = [(fact, i) for v, i in at.items() for fact in (("label", v), ("unit", problem.unit_of[v]))]
    asked += [(("label", v), at[w]) for edge in problem.order_edges for v, w in (edge, edge[::-1])]
    pairs = [decision[1:] for decision in decisions if decision[0] in ("together", "apart")]
    asked += [(("unit", u), first[v]) for pair in pairs for u, v in (pair, pair[::-1])]
    nets = {u: [] for u in first}
    for e, (source, sinks, *_) in enumerate(problem.nets if per[1] or per[2] else ()):
        asked += [(("net", e), first[u]) for u in (source, *sinks)]
        for u in (source, *sinks):
            nets[u].append(e)
    return list(at), nets, dict(sorted(asked, key=lambda one: one[1]))


def moves_of(problem, k, per, profit, decisions):
    """For each order node all moves: from a state to another one, with use, size and profit."""
    kind, (sequence, nets, needed) = problem.kinds[k], plan(problem, per, decisions)
    barred = {u for name, u, v in decisions if name == "on" and v != k or name == "not_on" and v == k}
    takes_room = sum(problem.memory) > kind["capacity"]
    pays = lambda where, ins, outs: where is True and outs or where is False and ins

    def enter(facts, unit, inside):
        """Use, size and profit of a unit's first order node; nothing where it may not lie there."""
        for name, u, v in (one for one in decisions if one[0] in ("together", "apart") and unit in one[1:]):
            other = facts.get(("unit", u + v - unit))
            if other is not None and (other != inside if name == "together" else other and inside):
                return None
        if inside and (kind["time"][unit] is None or unit in barred):
            return None
        used = per[0] * kind["time"][unit] if inside else 0
        for e in nets[unit]:
            source, _, cost, _ = problem.nets[e]
            known = where, ins, outs = facts.get(("net", e), (None, False, False))
            new = (inside, ins, outs) if unit == source else (where, ins or inside, outs or not inside)
            used += cost * (per[2] if new[0] else per[1]) if pays(*new) and not pays(*known) else 0
            facts["net", e] = new
        facts["unit", unit] = inside
        return used, problem.memory[unit] if inside and takes_room else 0, profit[unit] if inside else 0

    def extend(state, i, node, label):
        """The state after an order node has a label, and what that adds; nothing where it may not have it."""
        facts, unit = dict(state), problem.unit_of[node]
        labels = [(v, x) for (what, v), x in state if what == "label"]
        falls = any((v, node) in edges and x > label or (node, v) in edges and x < label for v, x in labels)
        added = enter(facts, unit, label == 1) if ("unit", unit) not in facts else (0, 0, 0)
        if falls or added is None or facts["unit", unit] != (label == 1):
            return None
        facts["label", node] = label
        return tuple(sorted((fact, x) for fact, x in facts.items() if needed[fact] > i)), *added

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
    name, unit, other = entry[0], problem.unit(entry[1]), entry[2]
    if name in ("on", "not_on"):
        refuse_unless(0 <= whole(other) < len(problem.kinds), "there is no such kind")
        return name, unit, other
    other = problem.unit(other)
    refuse_unless(name in OPPOSITE and unit != other, "there is no such decision")
    return name, min(unit, other), max(unit, other)


def prove(problem, lines):
    """Whether numbered lines show that no split is below the problem's claim."""
    proven = set()
    for number, line in lines:
        reason, fields = REASONS[line["reason"]]
        if set(line) - fields - {"reason", "under", "device"}:
            raise ValueError(f"line {number} has unknown fields")
        decisions = tuple(decision(problem, entry) for entry in line.get("under") or [])
        try:
            reason(problem, line, decisions)
        except Refused as cause:
            raise Refused(f"line {number}: {cause}") from None
        proven.add(decisions)
    for depth in range(max(map(len, proven), default=0), 0, -1):
        for case in [case for case in proven if len(case) == depth]:
            name, u, v = case[-1]
            if (*case[:-1], (OPPOSITE[name], u, v)) in proven:
                proven.add(case[:-1])
    refuse_unless(() in proven, "a case is missing")


def check_split(problem, devices, sets):
    """Whether a split is one that is asked for."""
    listed = sorted(whole(v) for device in devices for v in device["nodes"])
    is_whole = listed == list(range(len(problem.unit_of))) and sum(map(len, sets)) == problem.units
    refuse_unless(is_whole, "line 1: the split does not hold each unit once")
    taken = collections.Counter(whole(device["kind"]) for device in devices)
    are_there = all(0 <= k < len(problem.kinds) and n <= problem.kinds[k]["count"] for k, n in taken.items())
    refuse_unless(are_there, "line 1: the split takes devices that are not there")
    for kind, units in ((problem.kinds[device["kind"]], units) for device, units in zip(devices, sets)):
        fits = sum(problem.memory[u] for u in units) <= kind["capacity"]
        refuse_unless(fits and None not in [kind["time"][u] for u in units], "line 1: a device cannot hold its nodes")
    holder = {u: d for d, units in enumerate(sets) for u in units}
    for drawn in [[d] for d in set(holder.values())] if problem.scope == "convex" else [range(len(sets))]:
        vertex = [d if (d := holder[unit]) in drawn else len(sets) + v for v, unit in enumerate(problem.unit_of)]
        edges = {(vertex[a], vertex[b]) for a, b in problem.order_edges}
        component = strong_components(len(sets) + len(vertex), edges)
        refuse_unless(all(component.count(component[d]) == 1 for d in drawn), "line 1: the split is not of the scope")


def scenario(instance, spread, kind, nodes):
    """The instance where what a device pays for takes as long as it may, and all else as short."""
    by = lambda time, measured: measured if spread == "measured" else time * spread
    move = lambda time, by, up: time + by if up else max(0, time - by)
    cut = {a for a, b in instance.edges if kind < instance.classes and (a in nodes) != (b in nodes)}
    moved = copy.copy(instance)
    moved.transfer = [move(time, by(time, 0), v in cut) for v, time in enumerate(instance.transfer)]
    measured = [[spread] * instance.classes + [0] for spread in instance.spread]
    one = lambda v, k, t: None if t is None else move(t, by(t, measured[v][k]), v in nodes and k == kind)
    moved.times = [[one(v, k, t) for k, t in enumerate(own)] for v, own in enumerate(instance.times)]
    return moved


def problems(instance, line):
    """What is to be proven: the claim itself or, of stability, one for each device by its number."""
    stability, problem = line.get("stability"), Problem(instance, line)
    if stability is None:
        return {None: problem}
    spread, devices = stability["spread"], stability["devices"]
    is_known = spread == "measured" or type(spread) in (int, Fraction) and spread >= 0
    if not is_known or set(stability) != {"spread", "devices"} or any(set(one) != {"kind", "nodes"} for one in devices):
        raise ValueError("the stability has something unknown")
    loads = [kind["load"] for kind in line["accelerators"]]
    is_alike = all(len(load) == 1 and load[0][1:] == [loads[0][0][1]] * 2 for load in loads)
    is_simple = is_alike and not problem.is_gpipe and line.get("replication") is None
    refuse_unless(is_simple, "line 1: stability is of throughput, no replicas, and devices that pay the same")
    sets = [{problem.unit(v) for v in device["nodes"]} for device in devices]
    check_split(problem, devices, sets)
    own = [Problem(scenario(instance, spread, device["kind"], set(device["nodes"])), line) for device in devices]
    for scene, device, units in zip(own, devices, sets):
        kind = scene.kinds[device["kind"]]
        scene.claim = int(scene.loads(kind, 1, scene.terms(kind, units), 0)[0]) - problem.claim
    return dict(enumerate(own))


def check(instance_data, proof_text):
    first, *lines = proof_text.splitlines()
    statement = json.loads(first, parse_float=Fraction)
    refuse_unless(statement["instance"] == fnv(instance_data), "line 1: it is about another instance")
    lines = [(number, json.loads(line)) for number, line in enumerate(lines, 2)]
    own = problems(Instance(instance_data), statement)
    if not all(line.get("device") in own and type(line.get("device")) in map(type, own) for _, line in lines):
        raise ValueError("a line names one of the devices of the first line, where that has some")
    for device, problem in own.items():
        if device is None or problem.claim > 0:
            prove(problem, [(number, line) for number, line in lines if line.get("device") == device])
    what = "every split has a load of at least" if None in own else "the split is above the best one by at most"
    return f"{what} {statement['claim']} · 10^-{statement['digits']}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        instance, proof = (pathlib.Path(path).read_bytes() for path in sys.argv[1:])
        print("accepted:", check(instance, proof.decode()))
        return 0
    except Refused as cause:
        print(f"refused: {cause}", file=sys.stderr)
        return 1
    except (OSError, LookupError, TypeError, ValueError) as cause:
        print(f"unreadable: {cause!r}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
