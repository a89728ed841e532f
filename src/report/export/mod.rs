//! Tables as files: one exporter per format.

pub mod csv;
pub mod json;
pub mod latex;
pub mod markdown;

#[cfg(test)]
pub(crate) mod tests {
    use super::super::sheet::{Cell, Column, Sheet};

    /// Every kind of cell, and what the formats have to escape.
    pub fn sample() -> Sheet {
        Sheet {
            caption: "Gaps & times of 50% of it".into(),
            columns: vec![Column::words("workload"), Column::words("method"), Column::figures("gap")],
            rows: vec![
                vec!["bert_24".into(), Cell::code("cluster:k=48+dp"), Cell::Ratio(0.1 + 0.2)],
                vec!["a|b, \"c\"".into(), "line\nbreak".into(), Cell::Empty],
                vec![Cell::Seconds(1.0 / 3.0), Cell::Bytes(1.5e6), Cell::Number(51.549_720_31)],
            ],
            notes: vec!["$ # {x} ~ ^ \\ < >".into()],
        }
    }
}
