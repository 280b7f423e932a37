//! `confined COUNT FOLDER` starts `true` COUNT times without confinement and COUNT times in the reading one, in turns, and
//! prints the mean milliseconds of each. FOLDER is the workspace.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use charla_proto::Confinement;
use charla_sandbox::{Extra, Places, Sandbox, Treatment};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [count, folder] = args.as_slice() else { return Err("usage: confined COUNT FOLDER".into()) };
    let (count, folder): (u32, PathBuf) = (count.parse()?, Path::new(folder).canonicalize()?);
    let treatment = |path: &Path| match path.file_name().is_some_and(|name| name == ".env") {
        true => Treatment::Hidden { guarded: false, denied: false },
        false => Treatment::Plain,
    };
    let sandbox = Sandbox::new(Places {
        roots: vec![folder.clone()],
        home: std::env::home_dir(),
        temporary: std::env::temp_dir(),
        programs: Vec::new(),
        readable: Vec::new(),
        history: Vec::new(),
        secrets: Vec::new(),
        denied: Vec::new(),
        treatment: Arc::new(treatment),
    });
    let run = |confinement: Option<Confinement>| -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let mut command = Command::new("/bin/true");
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(confinement) = confinement {
            sandbox.prepare(confinement, &folder, &Extra::default())?.apply(&mut command);
        }
        let status = command.status()?;
        if status.success() { Ok(start.elapsed()) } else { Err(format!("it failed: {status}").into()) }
    };
    // What is found out once in a session is not what a command costs.
    run(Some(Confinement::Reading))?;
    let (mut plain, mut confined) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..count {
        plain += run(None)?;
        confined += run(Some(Confinement::Reading))?;
    }
    let mean = |all: Duration| all.as_secs_f64() * 1000.0 / f64::from(count);
    println!("plain {:.4} confined {:.4}", mean(plain), mean(confined));
    Ok(())
}
