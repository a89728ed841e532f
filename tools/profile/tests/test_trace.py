"""Traced graphs compute what the model computes, and say what it is made of."""

import operator

import pytest
import torch
from torch import nn

from conftest import MODELS, make
from dagsplit_profile import Granularity, ProfileError, group, trace
from dagsplit_profile.stages import stage_modules


@pytest.mark.parametrize("name", MODELS)
def test_a_traced_graph_in_one_piece_is_the_model(name):
    model, x = make(name)
    traced = trace(model, (x,))
    groups = group(traced)
    (whole,) = stage_modules(traced, groups, [[entry.name for entry in groups]])
    fresh = make(name, seed=1)[1]
    torch.testing.assert_close(whole(fresh), model(fresh))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_stages_one_after_another_are_the_model(name, pieces):
    model, x = make(name)
    traced = trace(model, (x,))
    groups = group(traced)
    nodes, stage = [[] for _ in range(pieces)], 0
    for index, entry in enumerate(groups):
        # Pieces of a tuple share its device in every instance; here, too.
        if entry.nodes[0].target is not operator.getitem:
            stage = index * pieces // len(groups)
        nodes[stage].append(entry.name)
    values = (make(name, seed=1)[1],)
    wanted = model(*values)
    for module in stage_modules(traced, groups, nodes):
        values = module(*values)
        values = values if isinstance(values, tuple) else (values,)
    torch.testing.assert_close(values[0], wanted)


def test_names_tell_modules_and_inplace_operators_are_gone():
    model, x = make("branching")
    traced = trace(model, (x,))
    names = [entry.name for entry in group(traced)]
    assert names[:3] == ["stem/conv2d", "relu/relu_", "left.0/conv2d_1"]
    assert len(set(names)) == len(names)
    for node in traced.operators:
        assert not any(a.alias_info and a.alias_info.is_write for a in node.target._schema.arguments)


def test_a_value_that_changes_through_a_view_is_traced():
    class Shift(nn.Module):
        def forward(self, x):
            y = x * 2
            y[:, 0] += 1
            return y + y.sum()

    x = torch.randn(3, 4)
    traced = trace(Shift(), (x,))
    groups = group(traced)
    (whole,) = stage_modules(traced, groups, [[entry.name for entry in groups]])
    torch.testing.assert_close(whole(x), Shift()(x))


def test_modules_become_nodes_by_depth_name_or_class():
    model, x = make("transformer")
    traced = trace(model, (x,))
    names = lambda **how: [entry.name for entry in group(traced, Granularity(**how))]
    layers = [f"layers.{i}" for i in range(4)]
    assert names(atomic=["Layer"]) == ["embedding/embedding", *layers, "head/linear_16"]
    assert names(atomic=["layers.?", "head"]) == ["embedding/embedding", *layers, "head"]
    assert names(depth=1)[0] == "embedding"
    assert len(names()) > len(names(depth=3)) > len(names(depth=2))


def test_later_calls_of_a_module_are_numbered():
    model, x = make("branching")
    names = [entry.name for entry in group(trace(model, (x,)), Granularity(depth=1))]
    assert [name for name in names if name.startswith("relu")] == ["relu", "relu@1"]
    assert [name for name in names if "/" in name] == ["/cat", "/add_", "/mean"]


class Branches(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class Selects(nn.Module):
    def forward(self, x):
        return x[x > 0].sum()


class Reads(nn.Module):
    def forward(self, x):
        return x * x.max().item()


class Chooses(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Casts(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu"):
            return x @ x.t()


class Leaves(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() + 1)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    "model, cause, line, cure",
    [
        (Branches, "control flow or shapes depend on the values", r"return x \+ 1 if", "torch.where"),
        (Selects, "shape or number depends on the values", r"return x\[x > 0\]", r"torch.where\(mask, x, 0\)"),
        (Reads, "shape or number depends on the values", r"return x \* x.max", "a number as a tensor"),
        (Chooses, "cond chooses its operators when the model runs", "return torch.cond", "torch.where"),
        (Casts, "torch.autocast inside the model", "return x @ x.t", "--dtype bf16"),
        (Leaves, "reads the data of tensors outside", r"return torch.from_numpy", "with operators of PyTorch"),
    ],
)
def test_what_cannot_be_split_is_refused_with_line_and_cure(model, cause, line, cure, device, capfd):
    pattern = rf"{cause}[^\n]*\n  at \S*test_trace.py:\d+: {line}[^\n]*\n  to cure it: [^\n]*{cure}"
    with pytest.raises(ProfileError, match=pattern) as refusal:
        trace(model(), (torch.randn(3, 3, device=device),))
    assert len(str(refusal.value)) < 800 and "def forward" not in capfd.readouterr().err


class Regions(nn.Module):
    """Computes without gradients, with them again inside, and without autocast; makes tensors of its own."""

    def __init__(self):
        super().__init__()
        self.taught = nn.Linear(3, 3)
        self.fixed = nn.Linear(3, 3)

    def forward(self, x):
        y = self.taught(x)
        with torch.no_grad():
            z = self.fixed(y).relu()
            w = z + torch.arange(3)
            with torch.enable_grad():
                w = w * torch.tensor([1.0, 2.0, 3.0])
        with torch.autocast("cpu", enabled=False):
            return y * z + w + self.taught(y)


def test_regions_are_inlined_and_no_gradient_leaves_them():
    model, x = Regions().train(), torch.randn(2, 3)
    traced = trace(model, (x,))
    (whole,) = stage_modules(traced, group(traced), [[entry.name for entry in group(traced)]])
    torch.testing.assert_close(whole(x), model(x))
    whole(x).sum().backward()
    gradient = model.taught.weight.grad.clone()
    assert model.fixed.weight.grad is None
    model.zero_grad()
    model(x).sum().backward()
    torch.testing.assert_close(gradient, model.taught.weight.grad)


@pytest.mark.parametrize("training", [False, True])
def test_a_model_has_one_graph_on_every_device(training):
    x = torch.ones(2, 3)
    measured = trace(Regions().train(training), (x,))
    modelled = trace(Regions().to("meta").train(training), (x.to("meta"),))
    described = [
        [(node.name, str(node.args), node.meta["val"].shape) for node in t.operators] for t in (modelled, measured)
    ]
    assert described[0] == described[1]


def test_stages_must_name_every_node_and_flow_one_way():
    model, x = make("mlp")
    traced = trace(model, (x,))
    groups = group(traced)
    names = [entry.name for entry in groups]
    with pytest.raises(ProfileError, match="does not name 2 nodes of this model"):
        stage_modules(traced, groups, [names[:4], names[6:]])
    with pytest.raises(ProfileError, match="of a later stage"):
        stage_modules(traced, groups, [names[4:], names[:4]])


def test_a_tuple_cannot_be_sent():
    model, x = make("transformer")
    traced = trace(model, (x,))
    groups = group(traced)
    names = [entry.name for entry in groups]
    cut = names.index("layers.1/chunk_1") + 1
    with pytest.raises(ProfileError, match="chunk_1 is a tuple"):
        stage_modules(traced, groups, [names[:cut], names[cut:]])


def test_an_argument_that_is_left_out_is_no_input():
    class Masked(nn.Module):
        def forward(self, x, mask=None, bias=None):
            y = x if mask is None else x * mask
            return torch.relu(y if bias is None else y + bias)

    traced = trace(Masked(), (torch.ones(2, 3), None, torch.ones(3)))
    assert [node.name for node in traced.inputs] == ["x", "bias"]
    assert len(traced.example) == 2
