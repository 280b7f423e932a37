//! Writing the tracks.

pub fn write(tracks: &[crate::integrate::Track], path: &str) -> anyhow::Result<()> {
    let mut text = String::from("name,x,y,z\n");
    for track in tracks {
        for [x, y, z] in &track.points {
            text.push_str(&format!("{},{x},{y},{z}\n", track.name));
        }
    }
    Ok(std::fs::write(path, text)?)
}
