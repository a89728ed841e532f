//! The shapes of what operators give, and their numbers where they are few and known: ONNX operators, versions 9 to 23,
//! and the operators of `com.microsoft` that quantisation and fusion leave behind.

mod arithmetic;
mod elementwise;
mod indexing;
mod matrix;
mod movement;
mod recurrent;
mod reduction;
mod resize;
mod window;

pub(super) use matrix::Equation;

use super::call::{Call, Fault, Outcome};
use super::proto::NodeProto;
use super::value::{OPEN, Value, data_type};

/// Operators of `com.microsoft`, each with the operator of ONNX that gives values of the same shapes.
const FUSED: [(&str, &str); 18] = [
    ("BiasGelu", "Gelu"),
    ("DynamicQuantizeLSTM", "LSTM"),
    ("DynamicQuantizeMatMul", "MatMul"),
    ("FastGelu", "Gelu"),
    ("FusedConv", "Conv"),
    ("Gelu", "Gelu"),
    ("MatMulIntegerToFloat", "MatMul"),
    ("QGemm", "QGemm"),
    ("QLinearAdd", "QLinearAdd"),
    ("QLinearAveragePool", "AveragePool"),
    ("QLinearConcat", "QLinearConcat"),
    ("QLinearGlobalAveragePool", "GlobalAveragePool"),
    ("QLinearLeakyRelu", "LeakyRelu"),
    ("QLinearMul", "QLinearMul"),
    ("QLinearSigmoid", "Sigmoid"),
    ("QLinearSoftmax", "Softmax"),
    ("QuickGelu", "Gelu"),
    ("SkipLayerNormalization", "LayerNormalization"),
];

/// What an operator does, in ONNX' own words; `None` for operators of makers that are not known.
pub(super) fn operator(node: &NodeProto) -> Option<&str> {
    match node.domain.as_str() {
        "" | "ai.onnx" => Some(&node.op_type),
        "com.microsoft" => FUSED.iter().find(|(fused, _)| *fused == node.op_type).map(|&(_, own)| own),
        _ => None,
    }
}

/// Whether an operator gives other numbers each time, so that they are no constants.
pub(super) fn is_random(operator: &str) -> bool {
    operator.starts_with("Random") || matches!(operator, "Bernoulli" | "Multinomial")
}

/// What an operator gives.
pub(super) fn infer(call: &Call) -> Outcome {
    let one = |value: Result<Value, Fault>| value.map(|value| vec![value]);
    match call.operator {
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Min" | "Max" | "Sum" | "Mean" | "And" | "Or" | "Xor"
        | "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" | "BitShift" | "BitwiseAnd" | "BitwiseOr"
        | "BitwiseXor" | "PRelu" => one(elementwise::broadcast(call)),
        "QLinearAdd" | "QLinearMul" => one(elementwise::quantised(call)),
        "Where" => one(elementwise::choice(call)),
        "Abs"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "Bernoulli"
        | "BitwiseNot"
        | "Cast"
        | "CastLike"
        | "Ceil"
        | "Celu"
        | "Clip"
        | "Cos"
        | "Cosh"
        | "CumSum"
        | "DequantizeLinear"
        | "Elu"
        | "Erf"
        | "Exp"
        | "EyeLike"
        | "Floor"
        | "Gelu"
        | "GroupNormalization"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "Identity"
        | "InstanceNormalization"
        | "IsInf"
        | "IsNaN"
        | "LRN"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Neg"
        | "Not"
        | "QuantizeLinear"
        | "RMSNormalization"
        | "RandomNormalLike"
        | "RandomUniformLike"
        | "Reciprocal"
        | "Relu"
        | "ReverseSequence"
        | "RotaryEmbedding"
        | "Round"
        | "Scatter"
        | "ScatterElements"
        | "ScatterND"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sign"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Sqrt"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "ThresholdedRelu"
        | "Trilu" => one(elementwise::same(call)),
        "Dropout" => elementwise::with_mask(call),
        "BatchNormalization" => elementwise::with_statistics(call),
        "LayerNormalization" => elementwise::with_deviations(call),
        "DynamicQuantizeLinear" => elementwise::with_scale(call),
        "MatMul" | "MatMulInteger" | "QLinearMatMul" => one(matrix::product(call)),
        "Gemm" | "QGemm" => one(matrix::gemm(call)),
        "Einsum" => one(matrix::einsum(call)),
        "Attention" => matrix::attention(call),
        "LSTM" | "GRU" | "RNN" => recurrent::steps(call),
        "Conv" | "ConvInteger" | "QLinearConv" | "DeformConv" => one(window::convolution(call)),
        "ConvTranspose" => one(window::transposed(call)),
        "AveragePool" | "LpPool" | "MaxPool" => window::pool(call),
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => one(window::global(call)),
        "MaxRoiPool" | "RoiAlign" => one(window::regions(call)),
        "GridSample" => one(window::grid_sample(call)),
        "DepthToSpace" | "SpaceToDepth" => one(window::blocks(call)),
        "Resize" | "Upsample" => one(resize::resize(call)),
        "Reshape" => one(movement::reshape(call)),
        "Flatten" => one(movement::flatten(call)),
        "Squeeze" => one(movement::squeeze(call)),
        "Unsqueeze" => one(movement::unsqueeze(call)),
        "Transpose" => one(movement::transpose(call)),
        "Concat" | "QLinearConcat" => one(movement::concat(call)),
        "Split" => movement::split(call),
        "Expand" => one(movement::expand(call)),
        "Tile" => one(movement::tile(call)),
        "Pad" => one(movement::pad(call)),
        "Slice" => one(indexing::slice(call)),
        "Gather" => one(indexing::gather(call)),
        "GatherND" => one(indexing::gather_nd(call)),
        "GatherElements" => one(indexing::gather_elements(call)),
        "NonZero" => one(indexing::non_zero(call)),
        "OneHot" => one(indexing::one_hot(call)),
        "TopK" => indexing::top_k(call),
        "Compress" => one(indexing::some_of(call)),
        "Unique" => indexing::unique(call),
        "NonMaxSuppression" => Ok(vec![Value::new(vec![OPEN, 3], data_type::INT64)]),
        "ArgMax" | "ArgMin" => one(reduction::argument(call)),
        operator if operator.starts_with("Reduce") => one(reduction::reduce(call)),
        "Shape" => one(movement::shape(call)),
        "Size" => Ok(vec![movement::size(call.input(0)?)]),
        "ConstantOfShape" => one(movement::constant_of_shape(call)),
        "Range" => one(arithmetic::range(call)),
        "RandomNormal" | "RandomUniform" => {
            let shape = call.list("shape")?.ok_or_else(|| Fault::Wrong("it states no shape".into()))?;
            Ok(vec![Value::new(shape.to_vec(), data_type::FLOAT)])
        }
        _ => Err(Fault::NoRule),
    }
}
