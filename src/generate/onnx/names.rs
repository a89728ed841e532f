//! How values and operators are called.

use super::proto::NodeProto;

/// How a value is shown.
pub(super) fn place(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    format!("value {shown:?}")
}

/// The operator's name, or its type and first result where it has none. Exporters name operators by the path of their
/// modules, which is shown as everywhere else: `encoder.layer.3.output/MatMul` for `/encoder/layer.3/output/MatMul`.
pub(super) fn shown(node: &NodeProto) -> String {
    match node.output.first() {
        _ if !node.name.is_empty() => match node.name.rsplit_once('/') {
            Some((modules, operator)) => format!("{}/{operator}", modules.trim_start_matches('/').replace('/', ".")),
            None => node.name.clone(),
        },
        Some(output) => format!("{} {output}", node.op_type),
        None => node.op_type.clone(),
    }
}

/// The repeated block that an operator belongs to by its name: up to its first part that ends in a number, such as
/// `/encoder/layer.3` of `/encoder/layer.3/output/MatMul`.
pub(super) fn block(name: &str) -> &str {
    let ends = name.match_indices('/').map(|(end, _)| end).filter(|&end| end > 0);
    let mut first = "";
    for end in ends {
        let prefix = &name[..end];
        if prefix.ends_with(|c: char| c.is_ascii_digit()) {
            return prefix;
        }
        if first.is_empty() {
            first = prefix;
        }
    }
    first
}
