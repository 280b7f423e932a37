#[test]
fn a_low_orbit_takes_about_ninety_minutes() {
    let minutes = orbit_sim::body::period(400_000.0) / 60.0;
    assert!((minutes - 92.4).abs() < 0.5);
}
