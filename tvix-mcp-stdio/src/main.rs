//! Tvix.
fn main() {}
