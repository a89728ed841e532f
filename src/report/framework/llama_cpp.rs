//! llama.cpp's split of layers over devices.

use super::Layers;

/// Arguments of its programs. Of n layers and the output, which counts as one more, device d takes the share that stands
/// in the d-th place of `--tensor-split`. Layers of a CPU stage belong to the device before it, or else to the first one,
/// and their tensors are kept in main memory, as the embedding's table always is.
pub(super) fn text(layers: &Layers) -> String {
    let last = layers.counts.len() - 1;
    let (mut shares, mut kept): (Vec<usize>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut first, mut without_device) = (0, 0);
    for (s, &count) in layers.counts.iter().enumerate() {
        let units = count + usize::from(s == last);
        if layers.on_cpu[s] {
            kept.extend((first..first + count).map(|layer| format!("blk\\.{layer}\\.")));
            // Where it is tied to the embedding's table, the output goes by the name of that.
            kept.extend((s == last).then(|| "output|token_embd".to_owned()));
        } else {
            shares.push(std::mem::take(&mut without_device));
        }
        *shares.last_mut().unwrap_or(&mut without_device) += units;
        first += count;
    }
    if shares.is_empty() {
        return "--n-gpu-layers 0\n".to_owned();
    }
    let list = shares.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let all = shares.iter().sum::<usize>();
    let kept =
        if kept.is_empty() { String::new() } else { format!(" --override-tensor \"^({})=CPU\"", kept.join("|")) };
    format!("--n-gpu-layers {all} --split-mode layer --tensor-split {list}{kept}\n")
}
