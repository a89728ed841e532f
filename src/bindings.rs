//! What the Python package reaches beside the interface. It may change at any time.

pub use crate::any_split::{AnySplit, NoSplit, with_devices};
pub use crate::checked::checked;
pub use crate::memory::budget;
pub use crate::report;
pub use crate::request::{Devices, Request, RequestError};
