//! Bodies and scenarios.

use serde::Deserialize;

pub const EARTH_MU: f64 = 3.986004418e14;
pub const EARTH_RADIUS: f64 = 6_371_000.0;

#[derive(Deserialize)]
pub struct Satellite {
    pub name: String,
    pub mass: f64,
    pub altitude_km: f64,
    pub inclination: f64,
}

pub fn load(path: &std::path::Path) -> anyhow::Result<Vec<Satellite>> {
    let text = std::fs::read_to_string(path)?;
    Ok(serde_json::from_str(&text)?)
}

pub fn circular_speed(altitude: f64) -> f64 {
    (EARTH_MU / (EARTH_RADIUS + altitude)).sqrt()
}

pub fn period(altitude: f64) -> f64 {
    // TODO: ellipses
    std::f64::consts::TAU * (EARTH_RADIUS + altitude) / circular_speed(altitude)
}
