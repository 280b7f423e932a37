//! Reads a scenario and writes the tracks.

mod body;
mod integrate;
mod output;

use clap::Parser;

#[derive(Parser)]
struct Options {
    /// The scenario file.
    scenario: std::path::PathBuf,
    /// How many seconds one step is.
    #[arg(long, default_value_t = 10.0)]
    step: f64,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let scenario = body::load(&options.scenario)?;
    let tracks = integrate::run(&scenario, options.step);
    output::write(&tracks, "tracks.csv")
}
