//! The least a program can do: the reference for start-up.

fn main() {}
