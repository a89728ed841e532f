//! Readers and writers of workload and split files.
