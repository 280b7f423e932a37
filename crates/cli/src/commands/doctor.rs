//! `charla doctor`: tries what this machine enforces.

use charla::{Failure, Wall};

use crate::printer::Printer;

/// Runs `charla doctor`.
pub fn run(json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let wall = Wall::prove();
    if json {
        let Wall { reading, editing, landlock, notes } = &wall;
        let facts = serde_json::json!({ "sandbox": {
            "reading": reading, "editing": editing, "landlock": landlock, "notes": notes,
        } });
        return printer.result(&format!("{facts}\n"));
    }
    let version = match wall.landlock {
        0 => "none".to_owned(),
        version => format!("version {version}"),
    };
    let held = |holds: bool| if holds { "holds" } else { "does not hold: such commands ask" };
    let mut text = format!("sandbox  Landlock: {version}\n");
    text += &format!("  reading  {}\n", held(wall.reading));
    text += &format!("  editing  {}\n", held(wall.editing));
    for note in &wall.notes {
        text += &format!("  note     {note}\n");
    }
    printer.result(&text)
}
