//! What the names of nodes say about the modules they come from.

use crate::instance::Node;

/// The module of a node, by its qualified name; `None` where it has none or belongs to the root.
pub(super) fn module(node: &Node) -> Option<&str> {
    let name = node.name.as_deref()?;
    let module = name.split_once('/').map_or(name, |(module, _)| module);
    // Later calls of one module are numbered: `relu`, `relu@1`.
    let module = module.split_once('@').map_or(module, |(module, _)| module);
    (!module.is_empty()).then_some(module)
}

/// Whether the node is a later call of its module: `relu@1`.
pub(super) fn is_later_call(node: &Node) -> bool {
    let name = node.name.as_deref().unwrap_or_default();
    name.split_once('/').map_or(name, |(module, _)| module).contains('@')
}

/// Whether `inner` is the module `outer` or lies inside it.
pub(super) fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The modules around and including `module`, from the outermost in: `a`, `a.b`, `a.b.c`.
pub(super) fn ancestors(module: &str) -> impl Iterator<Item = &str> {
    let ends = module.match_indices('.').map(|(end, _)| end).chain([module.len()]);
    ends.map(|end| &module[..end])
}

/// The outermost module of the node that `list`, the list of layers, does not lie in: a layer, or what stands beside the
/// list.
pub(super) fn part<'a>(node: &'a Node, list: &str) -> Option<&'a str> {
    ancestors(module(node)?).find(|ancestor| !is_within(list, ancestor))
}

/// Whether running the node on one stage or another makes a difference: views and inputs cost nothing anywhere.
pub(super) fn costs(node: &Node) -> bool {
    node.parameter_bytes > 0.0 || node.accelerator_times.iter().flatten().any(|&time| time > 0.0)
}
