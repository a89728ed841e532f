//! What the stages of a pipeline compute and send.

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stage {
    /// Its name, as it is shown.
    pub name: String,
    /// Time of its forward pass over one microbatch on a device of speed 1.
    pub forward: f64,
    /// Time of its backward pass over one microbatch on a device of speed 1; 0 in inference.
    pub backward: f64,
    /// Bytes of weights that its replicas all-reduce: P(s) in the paper.
    pub parameter_bytes: f64,
    /// Bytes that each of its copies occupies on its device.
    pub memory: f64,
    /// Bytes of its memory that last however many microbatches are in flight, each of which keeps the rest; `None` takes
    /// those of the weights.
    pub lasting_bytes: Option<f64>,
    /// Bytes of what lasts that are there only while the stage works: stages on one device share them.
    pub working_bytes: f64,
}

impl Stage {
    /// Bytes that last, and those that it keeps for each microbatch in flight.
    pub fn kept(&self) -> (f64, f64) {
        let lasting = self.lasting_bytes.unwrap_or(self.parameter_bytes).min(self.memory);
        (lasting, self.memory - lasting)
    }

    /// Time of both passes over one microbatch on a device of speed 1: the paper's c_u(s).
    pub fn compute(&self) -> f64 {
        self.forward + self.backward
    }
}

/// Bytes that one copy of a stage sends to the matching copy of another for each microbatch, in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message {
    /// Index of the stage that sends.
    pub source: usize,
    /// Index of the stage that receives.
    pub target: usize,
    /// How many bytes.
    pub bytes: f64,
}

/// The stages of a pipeline and the messages between them (the paper's G_S). Activations go along the pipeline and
/// gradients against it, each as a message of its own; M(s, s') in the paper is the sum over both directions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageGraph {
    /// What it is called.
    pub name: String,
    /// The stages, in pipeline order.
    pub stages: Vec<Stage>,
    /// The messages; at most one for each ordered pair of distinct stages.
    pub messages: Vec<Message>,
}

impl StageGraph {
    /// The stages as one of a step's `microbatches` meets them. Weights are all-reduced once a step, after the backward
    /// pass: each microbatch bears its share of them, and stages without a backward pass have none to all-reduce.
    #[must_use]
    pub fn of_microbatch(&self, microbatches: usize) -> Self {
        let share = |stage: &Stage| if stage.backward > 0.0 { 1.0 / microbatches as f64 } else { 0.0 };
        let borne = |stage: &Stage| Stage { parameter_bytes: stage.parameter_bytes * share(stage), ..stage.clone() };
        Self { stages: self.stages.iter().map(borne).collect(), ..self.clone() }
    }
}
