//! Published figures that benchmarks stand beside.

/// File, and the published values over arbitrary and over contiguous splits: Tarnawski et al. 2020, Table 1.
pub const THROUGHPUT: [(&str, [f64; 2]); 16] = [
    ("operator/bert_l-3_inference", [21.91, 27.92]),
    ("operator/bert_l-6_inference", [28.33, 29.58]),
    ("operator/bert_l-12_inference", [130.03, 147.48]),
    ("operator/resnet50_inference", [124.35, 124.35]),
    ("operator/bert_l-3_training", [54.21, 65.30]),
    ("operator/bert_l-6_training", [71.64, 72.86]),
    ("operator/bert_l-12_training", [373.42, 438.00]),
    ("operator/resnet50_training", [255.19, 255.19]),
    ("layer/bert24_inference", [17.71, 17.79]),
    ("layer/resnet50_inference", [33.31, 33.77]),
    ("layer/inceptionv3_inference", [51.52, 51.55]),
    ("layer/gnmt_inference", [31.68, 32.91]),
    ("layer/bert24_training", [39.79, 41.75]),
    ("layer/resnet50_training", [76.65, 78.63]),
    ("layer/inceptionv3_training", [117.72, 122.76]),
    ("layer/gnmt_training", [88.47, 107.00]),
];
