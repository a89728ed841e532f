//! Integer programs, solved by HiGHS.

pub mod highs;
