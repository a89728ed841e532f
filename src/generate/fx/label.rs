//! What the label of a node says.

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Code {
    /// A value from outside, or one that the model holds.
    Input,
    /// A call.
    #[default]
    Operator,
    /// The graph's results.
    Output,
}

/// The fields of a label that tell costs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Label {
    pub code: Code,
    /// What is called, such as `torch.ops.aten.relu.default`.
    pub target: String,
    /// The shape of what it gives; `None` of tuples and of numbers that are no tensors.
    pub shape: Option<Vec<f64>>,
    is_held: bool,
    has_gradient: bool,
    is_real: bool,
}

impl Label {
    /// Reads `{name=%a|op_code=…\n|target=…\n|dtype=…\n|shape=(…)\n|requires_grad=…\n}`; `size` gives that of a named
    /// dimension, or 1 where there is none yet.
    pub fn parse(text: &str, mut size: impl FnMut(&str) -> Option<f64>) -> Result<Self, String> {
        let fields: Vec<(&str, &str)> = text
            .trim_matches(['{', '}'])
            .split('|')
            .filter_map(|field| field.split_once('='))
            .map(|(key, value)| (key.trim(), unbroken(value)))
            .collect();
        let field = |name: &str| fields.iter().find(|(key, _)| *key == name).map(|&(_, value)| value);
        let code = match field("op_code").ok_or("its label has no op_code")? {
            "placeholder" | "get_attr" => Code::Input,
            "output" => Code::Output,
            _ => Code::Operator,
        };
        let shape = match (code, field("shape")) {
            (Code::Output, _) | (_, None) => None,
            (_, Some(shape)) => Some(sizes(shape, &mut size).ok_or_else(|| format!("its shape is {shape:?}"))?),
        };
        Ok(Self {
            code,
            target: field("target").unwrap_or_default().to_owned(),
            shape,
            is_held: field("op_code") == Some("get_attr"),
            has_gradient: field("requires_grad") == Some("True"),
            is_real: field("dtype").is_some_and(|dtype| dtype.contains("float")),
        })
    }

    /// Whether the model holds it. Of a placeholder its label does not say so: one that has a gradient is a parameter, and
    /// a list of real numbers is a statistic or a frequency, for no model takes one from outside.
    pub fn is_parameter(&self) -> bool {
        let is_list = self.is_real && self.shape.as_ref().is_some_and(|shape| shape.len() <= 1);
        self.code == Code::Input && (self.is_held || self.has_gradient || is_list)
    }

    /// The numbers that it gives.
    pub fn elements(&self) -> f64 {
        self.shape.as_ref().map_or(0.0, |shape| shape.iter().product())
    }

    /// What is called, without where it comes from and which of its overloads it is: `relu`.
    pub fn operator(&self) -> &str {
        let parts: Vec<&str> = self.target.trim_start_matches("torch.ops.").split('.').collect();
        match parts.as_slice() {
            ["aten" | "prims", operator, ..] => operator,
            [.., operator] => operator,
            [] => "",
        }
    }
}

/// A value without the breaks that end its line in the picture.
fn unbroken(value: &str) -> &str {
    let value = value.trim();
    value.strip_suffix("\\n").or_else(|| value.strip_suffix("\\l")).unwrap_or(value).trim()
}

/// The sizes of a tuple such as `(1, s0 + 1, 64)`.
fn sizes(text: &str, size: &mut impl FnMut(&str) -> Option<f64>) -> Option<Vec<f64>> {
    let inner = text.trim().strip_prefix(['(', '['])?.strip_suffix([')', ']'])?;
    inner.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| sum(part, size)).collect()
}

/// A sum of products of numbers and names.
fn sum(text: &str, size: &mut impl FnMut(&str) -> Option<f64>) -> Option<f64> {
    let mut total = 0.0;
    for (at, term) in text.replace('-', "+-").split('+').map(str::trim).enumerate() {
        let (sign, term) = term.strip_prefix('-').map_or((1.0, term), |term| (-1.0, term.trim()));
        // A sign may come first.
        if term.is_empty() && at == 0 {
            continue;
        }
        let factors = term.split('*').map(|factor| factor.trim().trim_matches(['(', ')']));
        let factor = |factor: &str| match factor.parse::<u64>() {
            Ok(number) => Some(number as f64),
            Err(_) if is_name(factor) => Some(size(factor).unwrap_or(1.0)),
            Err(_) => None,
        };
        total += sign * factors.map(factor).product::<Option<f64>>()?;
    }
    (total >= 0.0).then_some(total)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
