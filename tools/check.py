#!/usr/bin/env python3
"""A second checker of proofs, dagsplit-proof/1, written from docs/proofs.md alone: slow, exact, without dependencies.

usage: check.py INSTANCE PROOF

Exit codes: 0 accepted, 1 refused, 2 usage, 3 a file cannot be read. Splits are dagsplit-check's business.
"""

import itertools
import json
import sys
from fractions import Fraction


class Refused(Exception):
    """The proof does not prove its claim."""


class Unreadable(Exception):
    """A file is not what it should be."""


def refuse_unless(condition, cause):
    if not condition:
        raise Refused(cause)


def whole(x):
    if isinstance(x, bool) or not isinstance(x, int):
        raise Unreadable(f"{x!r} is no whole number")
    return x


def exact(text):
    return Fraction(text)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def scaled_to_whole(values):
    """The least power of ten that makes all values whole numbers."""
    power = 1
    while any((value * power).denominator != 1 for value in values):
        power *= 10
        refuse_unless(power < 10**400, "a number is no decimal")
    return power


class Instance:
    """Nodes with exact costs, and distinct edges between positions."""

    def __init__(self, data):
        file = json.loads(data, parse_float=exact)
        if "schema" in file:
            if file["schema"] != "dagsplit-instance/1":
                raise Unreadable("the schema is unknown")
            self.classes = len(file["platform"]["accelerators"])
            nodes = file["nodes"]
            self.times = [[*node["accelerator_times"], node.get("cpu_time")] for node in nodes]
            self.transfer = [node.get("transfer_time", 0) for node in nodes]
            self.memory = [node.get("memory", 0) for node in nodes]
            self.parameters = [node.get("parameter_bytes", 0) for node in nodes]
            self.backward = [bool(node.get("backward", False)) for node in nodes]
            self.color = [node.get("color_class") for node in nodes]
            pairs = [(edge["source"], edge["target"]) for edge in file["edges"]]
        else:
            self.classes = 1
            nodes = file["nodes"]
            costs = {}
            for edge in file["edges"]:
                if costs.setdefault(edge["sourceId"], edge["cost"]) != edge["cost"]:
                    raise Unreadable("edges that leave one node cost differently")
            self.times = [
                [node["fpgaLatency"] if node["supportedOnFpga"] else None, node["cpuLatency"]] for node in nodes
            ]
            self.transfer = [costs.get(node["id"], 0) for node in nodes]
            self.memory = [node["size"] for node in nodes]
            self.parameters = [0] * len(nodes)
            self.backward = [bool(node.get("isBackwardNode", False)) for node in nodes]
            self.color = [node.get("colorClass") for node in nodes]
            pairs = [(edge["sourceId"], edge["destId"]) for edge in file["edges"]]
        position = {node["id"]: v for v, node in enumerate(nodes)}
        if len(position) < len(nodes) or not nodes:
            raise Unreadable("there is no node, or an id occurs twice")
        self.edges = sorted({(position[a], position[b]) for a, b in pairs})
        self.count = len(nodes)


def strong_components(count, edges):
    """A mark for each vertex, the same for those on common cycles."""
    after = [set() for _ in range(count)]
    for a, b in edges:
        after[a].add(b)

    def reach(start):
        seen, stack = {start}, [start]
        while stack:
            for v in after[stack.pop()]:
                if v not in seen:
                    seen.add(v)
                    stack.append(v)
        return seen

    reached = [reach(v) for v in range(count)]
    return [min(w for w in reached[v] if v in reached[w]) for v in range(count)]


class Problem:
    """Units, order nodes, nets and kinds of devices, in whole numbers."""

    def __init__(self, instance, line):
        known = {"format", "instance", "objective", "scope", "accelerators", "cpus", "transfer_scale", "replication"}
        if set(line) - known - {"digits", "claim", "order"}:
            raise Unreadable("the first line has unknown fields")
        if line["format"] != "dagsplit-proof/1" or line["objective"] != "throughput":
            raise Unreadable("the format or the objective is unknown")
        self.scope = line["scope"]
        if self.scope not in ("arbitrary", "convex", "acyclic"):
            raise Unreadable("the scope is unknown")
        refuse_unless(len(line["accelerators"]) == instance.classes, "the classes are not those of the instance")
        self.target = whole(line["claim"]) - 1
        self.time_unit = 10 ** whole(line["digits"])
        self.sequence = line.get("order") or []
        self.make_units(instance)
        self.make_nets(instance, line.get("transfer_scale") or 1)
        self.make_kinds(instance, line)

    def make_units(self, instance):
        mark = [("color", c) if c is not None else ("node", v) for v, c in enumerate(instance.color)]
        number = {}
        self.unit_of = [number.setdefault(m, len(number)) for m in mark]
        self.units = len(number)
        has_forward = {u for u, backward in zip(self.unit_of, instance.backward) if not backward}
        self.variable_of = [None] * instance.count
        self.unit_of_variable = []
        of_unit = [[] for _ in range(self.units)]
        for v, unit in enumerate(self.unit_of):
            if not instance.backward[v] or unit not in has_forward and not of_unit[unit]:
                self.variable_of[v] = len(self.unit_of_variable)
                of_unit[unit].append(len(self.unit_of_variable))
                self.unit_of_variable.append(unit)
        edges = set()
        for a, b in instance.edges:
            unit_a, unit_b = self.unit_of[a], self.unit_of[b]
            if not instance.backward[a] and not instance.backward[b]:
                edges.add((self.variable_of[a], self.variable_of[b]))
            elif instance.backward[a] and instance.backward[b] and unit_a != unit_b:
                if unit_a not in has_forward or unit_b not in has_forward:
                    edges.update(itertools.product(of_unit[unit_b], of_unit[unit_a]))
        if self.scope != "convex":
            between = {(self.unit_of_variable[a], self.unit_of_variable[b]) for a, b in edges}
            if self.scope == "acyclic":
                component = strong_components(self.units, between)
                number = {}
                new = [0] * self.units
                for v, unit in enumerate(self.unit_of):
                    new[unit] = number.setdefault(component[unit], len(number))
                self.unit_of = [new[unit] for unit in self.unit_of]
                self.units = len(number)
                edges = {(new[a], new[b]) for a, b in between if new[a] != new[b]}
            else:
                edges = set()
            self.variable_of = list(self.unit_of)
            self.unit_of_variable = list(range(self.units))
        self.order_edges = edges

    def units_of_time(self, time):
        value = time * self.time_unit
        refuse_unless(Fraction(value).denominator == 1, "a time is no whole number of units")
        return int(value)

    def make_nets(self, instance, scale):
        consumers = {}
        for a, b in instance.edges:
            consumers.setdefault(a, set()).add(self.unit_of[b])
        self.nets = []
        for a, units in consumers.items():
            sinks = units - {self.unit_of[a]}
            cost = self.units_of_time(instance.transfer[a] * scale)
            if sinks and cost:
                self.nets.append((self.unit_of[a], frozenset(sinks), cost))

    def make_kinds(self, instance, line):
        self.replication = line.get("replication")
        limits = [c.get("memory") for c in line["accelerators"] if c.get("memory") is not None]
        bandwidth = [self.replication["bandwidth"]] if self.replication else []
        self.byte = scaled_to_whole([*instance.memory, *instance.parameters, *limits, *bandwidth])
        self.memory = [0] * self.units
        self.parameters = [0] * self.units
        for v, unit in enumerate(self.unit_of):
            self.memory[unit] += int(instance.memory[v] * self.byte)
            self.parameters[unit] += int(instance.parameters[v] * self.byte)
        most = self.replication["most"] if self.replication else 1
        cpus = {"count": line["cpus"], "load": [[1, 0, 0]]}
        self.kinds = []
        for k, kind in enumerate([*line["accelerators"], cpus]):
            if set(kind) - {"count", "memory", "load"}:
                raise Unreadable("a class has unknown fields")
            time = [0] * self.units
            for v, unit in enumerate(self.unit_of):
                own = instance.times[v][k]
                time[unit] = None if own is None or time[unit] is None else time[unit] + self.units_of_time(own)
            limit = kind.get("memory")
            limit = None if limit is None else int(limit * self.byte)
            self.kinds.append({
                "count": whole(kind["count"]),
                "time": time,
                "pieces": kind["load"],
                "capacity": None if limit is None else limit + limit // 10**9,
                "replicas": min(most, kind["count"]) if k < instance.classes else 1,
            })

    def is_within(self, kind, replicas, terms, parameters):
        """Whether devices with these sums are within the target."""
        load = max(sum(c * t for c, t in zip(piece, terms)) for piece in kind["pieces"])
        if replicas == 1:
            return load <= self.target
        moved = Fraction(2 * (replicas - 1) * parameters * self.time_unit, replicas)
        moved /= Fraction(self.replication["bandwidth"] * self.byte)
        share = Fraction(load) / replicas
        added = self.replication["synchronisation"] == "added"
        return (share + moved if added else max(share, moved)) <= self.target

    def terms(self, kind, units):
        into = sum(x for s, t, x in self.nets if s not in units and t & units)
        out = sum(x for s, t, x in self.nets if s in units and not t <= units)
        return [sum(kind["time"][u] for u in units), into, out]

    def unit(self, node):
        refuse_unless(0 <= whole(node) < len(self.unit_of), f"there is no node {node}")
        return self.unit_of[node]


def work_of(problem, weights):
    refuse_unless(len(weights) == len(problem.kinds), "there has to be a weight for each kind")
    refuse_unless(all(0 <= whole(w) <= 2**40 for w in weights), "a weight is out of range")
    price = [w * max(piece[0] for piece in kind["pieces"]) for kind, w in zip(problem.kinds, weights)]
    usable = [(kind, p) for kind, p in zip(problem.kinds, price) if kind["count"]]
    least = lambda u: min((p * kind["time"][u] for kind, p in usable if kind["time"][u] is not None), default=2**100)
    return [least(u) for u in range(problem.units)], [w * problem.target for w in weights]


def check_work(problem, line, _decisions):
    of_unit, of_device = work_of(problem, line["weights"])
    most = sum(kind["count"] * w for kind, w in zip(problem.kinds, of_device))
    refuse_unless(sum(of_unit) > most, "the work does not exceed what devices can do")


def least_cut(problem, kind, piece, group):
    """The least value of a piece over the sets that hold the group: augmenting paths along shortest ones."""
    unlimited, residual = 2**124, {}

    def arc(a, b, capacity):
        residual.setdefault(a, {}).setdefault(b, 0)
        residual[a][b] += capacity
        residual.setdefault(b, {}).setdefault(a, 0)

    for u in range(problem.units):
        arc(u, "sink", unlimited if kind["time"][u] is None else piece[0] * kind["time"][u])
    for u in group:
        arc("source", u, unlimited)
    for i, (source, sinks, cost) in enumerate(problem.nets):
        arc(("in", i), source, piece[1] * cost)
        arc(source, ("out", i), piece[2] * cost)
        for v in sinks:
            arc(v, ("in", i), unlimited)
            arc(("out", i), v, unlimited)
    total = 0
    while total < unlimited:
        before, queue = {"source": None}, ["source"]
        for v in queue:
            for w, rest in residual[v].items():
                if rest > 0 and w not in before:
                    before[w] = v
                    queue.append(w)
        if "sink" not in before:
            return total
        path, v = [], "sink"
        while before[v] is not None:
            path.append((before[v], v))
            v = before[v]
        sent = min(residual[a][b] for a, b in path)
        for a, b in path:
            residual[a][b] -= sent
            residual[b][a] += sent
        total += sent
    return total


def check_crowd(problem, line, _decisions):
    units = [problem.unit(node) for node in line["nodes"]]
    most = line["most"]
    refuse_unless(len(set(units)) == len(units), "a unit counts twice")
    refuse_unless(len(most) == len(problem.kinds), "there has to be a number for each kind")
    refuse_unless(all(kind["replicas"] <= 1 for kind in problem.kinds), "a crowd says nothing of replicas")
    held = sum(kind["count"] * whole(m) for kind, m in zip(problem.kinds, most))
    refuse_unless(len(units) > held and min(most) >= 0, "the devices can hold as many")
    for kind, m in zip(problem.kinds, most):
        for group in itertools.combinations(units, m + 1) if kind["count"] else ():
            runs = all(kind["time"][u] is not None for u in group)
            fits = kind["capacity"] is None or sum(problem.memory[u] for u in group) <= kind["capacity"]
            if runs and fits:
                cuts = (least_cut(problem, kind, piece, group) for piece in kind["pieces"])
                refuse_unless(any(cut > problem.target for cut in cuts), f"a device may hold the units {group}")


def check_ideals(problem, line, _decisions):
    """All chains, stage by stage, by sets: the plainest program there is."""
    refuse_unless(problem.scope == "acyclic", "chains of ideals are the acyclic splits alone")
    of_unit, of_device = work_of(problem, line["weights"])
    before = [set() for _ in range(problem.units)]
    for a, b in problem.order_edges:
        before[b].add(a)
    all_units = frozenset(range(problem.units))
    reached = {frozenset(): {(0,) * len(problem.kinds)}}
    for size in range(problem.units):
        for ideal in [i for i in reached if len(i) == size]:
            uses = reached.pop(ideal)
            for k, kind in enumerate(problem.kinds):
                if not kind["count"]:
                    continue
                for larger, replicas in stages(problem, kind, ideal, before):
                    rest = sum(of_unit[u] for u in all_units - larger)
                    for use in uses:
                        use = tuple(n + replicas * (i == k) for i, n in enumerate(use))
                        left = [kind["count"] - n for kind, n in zip(problem.kinds, use)]
                        if min(left) >= 0 and sum(n * w for n, w in zip(left, of_device)) >= rest:
                            reached.setdefault(larger, set()).add(use)
    refuse_unless(all_units not in reached, "a chain of ideals has every load within the target")


def stages(problem, kind, ideal, before):
    """The ideals above one up to which a stage is within the target, each with a number of replicas."""
    seen, stack = {ideal}, [ideal]
    while stack:
        current = stack.pop()
        for u in range(problem.units):
            larger = current | {u}
            if u in current or not before[u] <= current or larger in seen or kind["time"][u] is None:
                continue
            seen.add(larger)
            stage = larger - ideal
            if kind["capacity"] is not None and sum(problem.memory[v] for v in stage) > kind["capacity"]:
                continue
            parameters = sum(problem.parameters[v] for v in stage)
            compute = sum(kind["time"][v] for v in stage)
            counts = range(1, kind["replicas"] + 1)
            if not any(problem.is_within(kind, r, [compute, 0, 0], parameters) for r in counts):
                continue
            stack.append(larger)
            terms = problem.terms(kind, stage)
            yield from ((larger, r) for r in counts if problem.is_within(kind, r, terms, parameters))


def check_profits(problem, line, decisions):
    refuse_unless(len(line["profits"]) == len(problem.unit_of), "there has to be a profit for each node")
    refuse_unless(len(line["kinds"]) == len(problem.kinds), "there has to be an entry for each kind")
    refuse_unless(all(kind["replicas"] <= 1 for kind in problem.kinds), "profits say nothing of replicas")
    profit = [0] * problem.units
    for unit, value in zip(problem.unit_of, line["profits"]):
        profit[unit] += whole(value)
    held = sum(kind["count"] * whole(own["most"]) for kind, own in zip(problem.kinds, line["kinds"]))
    refuse_unless(sum(profit) > held, "the profits do not exceed what the devices hold")
    for k, (kind, own) in enumerate(zip(problem.kinds, line["kinds"])):
        if kind["count"]:
            most = own["most"]
            refuse_unless(most >= 0 and most_profit(problem, k, own, profit, decisions) <= most, f"kind {k} earns more")


def most_profit(problem, k, own, profit, decisions):
    """The largest profit above what is claimed of a set within the capacity, else at most that."""
    kind, weights, (numerator, denominator) = problem.kinds[k], own["weights"], own["price"]
    refuse_unless(len(weights) == len(kind["pieces"]) + 1, "there has to be a weight for each piece, and for memory")
    refuse_unless(all(0 <= whole(w) < 2**40 for w in weights) and whole(numerator) >= 0 < whole(denominator), "a weight or a price is out of range")
    refuse_unless(weights[-1] == 0 or kind["capacity"] is not None, "unlimited memory has a weight")
    per = [sum(w * piece[i] for w, piece in zip(weights, kind["pieces"])) for i in range(3)]
    capacity = sum(weights[:-1]) * problem.target + weights[-1] * (kind["capacity"] or 0)
    steps, nets = plan(problem, per, decisions)
    states = [{((), (), ()): None}]
    moves = []
    for step in steps:
        following, move = {}, []
        for state in states[-1]:
            for label in (0, 1) if problem.scope == "arbitrary" else (0, 1, 2):
                found = extend(problem, kind, k, per, weights[-1], profit, decisions, nets, state, step, label)
                if found:
                    following[found[0]] = None
                    move.append((state, *found))
        states.append(following)
        moves.append(move)
    worth = lambda used, gain: denominator * gain - numerator * used
    future = [{state: 0 for state in states[-1]}]
    for move in reversed(moves):
        best = {}
        for state, to, used, gain in move:
            if to in future[-1]:
                value = worth(used, gain) + future[-1][to]
                best[state] = max(best.get(state, value), value)
        future.append(best)
    future.reverse()
    bound = denominator * own["most"] - numerator * capacity
    fronts = {((), (), ()): [(0, 0)]}
    for i, move in enumerate(moves):
        following = {}
        for state, to, used, gain in move:
            if to in future[i + 1]:
                for u, g in fronts.get(state, ()):
                    if u + used <= capacity and worth(u + used, g + gain) + future[i + 1][to] > bound:
                        following.setdefault(to, []).append((u + used, g + gain))
        fronts = {state: undominated(entries) for state, entries in following.items()}
    return max((gain for entries in fronts.values() for _, gain in entries), default=0)


def undominated(entries):
    kept = []
    for used, gain in sorted(entries, key=lambda entry: (entry[0], -entry[1])):
        if not kept or gain > kept[-1][1]:
            kept.append((used, gain))
    return kept


def plan(problem, per, decisions):
    """For each step the order node, whether its unit is new, and what is known no more after it; and the nets of each unit."""
    sequence = []
    for node in problem.sequence:
        refuse_unless(0 <= whole(node) < len(problem.variable_of), "the order names no node")
        variable = problem.variable_of[node]
        if variable is not None and variable not in sequence:
            sequence.append(variable)
    refuse_unless(len(sequence) == len(problem.unit_of_variable), "the order lacks a node")
    at = {variable: i for i, variable in enumerate(sequence)}
    first, last = {}, {}
    for variable, unit in enumerate(problem.unit_of_variable):
        first[unit] = min(first.get(unit, at[variable]), at[variable])
        last[unit] = max(last.get(unit, 0), at[variable])
    for name, u, v in decisions:
        if name in ("together", "apart"):
            both = max(first[u], first[v])
            last[u], last[v] = max(last[u], both), max(last[v], both)
    labels = dict(at)
    for a, b in problem.order_edges:
        labels[a], labels[b] = max(labels[a], at[b]), max(labels[b], at[a])
    nets, closes = [[] for _ in range(problem.units)], {}
    for i, (source, sinks, _) in enumerate(problem.nets):
        if per[1] or per[2]:
            closes[i] = max(first[u] for u in {source, *sinks})
            for u in {source, *sinks}:
                nets[u].append(i)
    steps = [(i, v, first[problem.unit_of_variable[v]] == i, last, labels, closes) for i, v in enumerate(sequence)]
    return steps, nets


def extend(problem, kind, k, per, memory_weight, profit, decisions, nets, state, step, label):
    """The state after an order node has a label, with use and profit; nothing where it may not have it."""
    i, variable, is_new, last, label_ends, closes = step
    unit, inside = problem.unit_of_variable[variable], label == 1
    units, labels, open_nets = dict(state[0]), dict(state[1]), dict(state[2])
    for other, own in labels.items():
        if (other, variable) in problem.order_edges and own > label or (variable, other) in problem.order_edges and own < label:
            return None
    used = gain = 0
    if not is_new:
        if units[unit] != inside:
            return None
    else:
        for name, u, v in decisions:
            if inside and u == unit and (name == "on" and v != k or name == "not_on" and v == k):
                return None
            if name in ("together", "apart") and unit in (u, v):
                partner = units.get(v if unit == u else u)
                if partner is not None and (partner != inside if name == "together" else partner and inside):
                    return None
        if inside:
            if kind["time"][unit] is None:
                return None
            used += per[0] * kind["time"][unit] + memory_weight * problem.memory[unit]
            gain += profit[unit]
        units[unit] = inside
        for e in nets[unit]:
            source, _, cost = problem.nets[e]
            where, ins, outs = open_nets.get(e, (None, False, False))
            paid = where is True and outs or where is False and ins
            if unit == source:
                where = inside
            else:
                ins, outs = ins or inside, outs or not inside
            pays = where is True and outs or where is False and ins
            if pays and not paid:
                used += cost * (per[2] if where else per[1])
            open_nets[e] = (where, ins, outs)
    labels[variable] = label
    keep = lambda known, ends: tuple(sorted((x, y) for x, y in known.items() if ends[x] > i))
    ending = tuple(sorted(((e, y) for e, y in open_nets.items() if closes[e] > i), key=lambda entry: entry[0]))
    return (keep(units, last), keep(labels, label_ends), ending), used, gain


REASONS = {
    "work": (check_work, {"weights"}),
    "crowd": (check_crowd, {"nodes", "most"}),
    "ideals": (check_ideals, {"weights"}),
    "profits": (check_profits, {"profits", "kinds"}),
}
OPPOSITE = {"on": "not_on", "not_on": "on", "together": "apart", "apart": "together"}


def decision(problem, entry):
    name, first, second = entry
    if name not in OPPOSITE:
        raise Unreadable(f"there is no decision {name!r}")
    first = problem.unit(first)
    if name in ("on", "not_on"):
        refuse_unless(0 <= whole(second) < len(problem.kinds), "there is no such kind")
        return name, first, second
    second = problem.unit(second)
    refuse_unless(first != second, "a pair is of two units")
    return name, min(first, second), max(first, second)


def check(instance_data, proof_text):
    lines = proof_text.splitlines()
    if not lines:
        raise Unreadable("the proof is empty")
    first = json.loads(lines[0], parse_float=exact)
    refuse_unless(first["instance"] == fnv(instance_data), "line 1: it is about another instance")
    problem = Problem(Instance(instance_data), first)
    proven = set()
    for number, text in enumerate(lines[1:], 2):
        line = json.loads(text)
        reason, fields = REASONS.get(line.get("reason"), (None, None))
        if reason is None or set(line) - fields - {"reason", "under"}:
            raise Unreadable(f"line {number}: the reason or a field is unknown")
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
    return first["claim"], first["digits"]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], "rb") as instance, open(sys.argv[2], encoding="utf-8") as proof:
            claim, digits = check(instance.read(), proof.read())
    except Refused as cause:
        print(f"refused: {cause}", file=sys.stderr)
        return 1
    except (OSError, KeyError, TypeError, ValueError, Unreadable) as cause:
        print(f"unreadable: {cause!r}", file=sys.stderr)
        return 3
    print(f"accepted: every split has a load of at least {claim} · 10^-{digits}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
