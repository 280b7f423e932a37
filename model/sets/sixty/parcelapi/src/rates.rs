//! Prices by zone and weight.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    Home,
    Neighbour,
    Europe,
    World,
}

const NEIGHBOURS: [&str; 5] = ["AT", "BE", "CZ", "NL", "PL"];
const EUROPE: [&str; 6] = ["ES", "FI", "FR", "IT", "PT", "SE"];

pub fn zone_for(country: &str) -> Zone {
    match country {
        "DE" => Zone::Home,
        c if NEIGHBOURS.contains(&c) => Zone::Neighbour,
        c if EUROPE.contains(&c) => Zone::Europe,
        _ => Zone::World,
    }
}

pub fn price(zone: Zone, grams: u32) -> f64 {
    let base = match zone {
        Zone::Home => 4.50,
        Zone::Neighbour => 8.20,
        Zone::Europe => 11.75,
        Zone::World => 23.40,
    };
    base + f64::from(grams / 1000) * 1.15
}
