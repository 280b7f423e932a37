//! Steps in time.

use crate::body::{Satellite, circular_speed};

pub struct Track {
    pub name: String,
    pub points: Vec<[f64; 3]>,
}

pub fn run(all: &[Satellite], step: f64) -> Vec<Track> {
    all.iter().map(|one| track(one, step)).collect()
}

fn track(one: &Satellite, step: f64) -> Track {
    let speed = circular_speed(one.altitude_km * 1000.0);
    // TODO: drag below 400 km
    let points = (0..600).map(|n| position(one, speed, n as f64 * step)).collect();
    Track { name: one.name.clone(), points }
}

fn position(one: &Satellite, speed: f64, seconds: f64) -> [f64; 3] {
    let angle = speed * seconds / (one.altitude_km * 1000.0);
    [angle.cos(), angle.sin(), one.inclination]
}
