//! Dynamic programs: over ideals, and over the prefixes of one order.
