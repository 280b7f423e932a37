//! `confined COUNT FOLDER` starts `true` COUNT times without confinement and COUNT times in each one, in turns, and
//! prints the mean milliseconds of each: in `reading`, in `editing` and in `asked`, and as a rule about every command lets it run. What
//! is looked at behind a child counts, too. FOLDER is the workspace.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use charla_proto::Confinement;
use charla_sandbox::{Consent, Extra, Places, Sandbox, Treatment};

/// A confinement, and who lets the child run.
type Profile = (&'static str, Confinement, Consent);

const PROFILES: [Profile; 4] = [
    ("confined", Confinement::Reading, Consent::Named),
    ("editing", Confinement::Editing, Consent::Named),
    ("asked", Confinement::Asked, Consent::Named),
    ("broad", Confinement::Asked, Consent::Broad),
];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [count, folder] = args.as_slice() else { return Err("usage: confined COUNT FOLDER".into()) };
    let (count, folder): (u32, PathBuf) = (count.parse()?, Path::new(folder).canonicalize()?);
    let treatment = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
        Some(".env") => Treatment::Hidden { guarded: false, denied: false },
        Some(".git" | "AGENTS.md") => Treatment::Protected { closed: true },
        _ => Treatment::Plain,
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
    let run = |profile: Option<&Profile>| -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let mut command = Command::new("/bin/true");
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut arrivals = None;
        if let Some((_, confinement, consent)) = profile {
            let extra = Extra { consent: *consent, ..Extra::default() };
            let mut cell = sandbox.prepare(*confinement, &folder, &extra)?;
            arrivals = cell.arrivals();
            cell.apply(&mut command);
        }
        let status = command.status()?;
        arrivals.map(|arrivals| arrivals.take_out()).transpose()?;
        if status.success() { Ok(start.elapsed()) } else { Err(format!("it failed: {status}").into()) }
    };
    // What is found out once in a session is not what a command costs.
    PROFILES.iter().try_for_each(|profile| run(Some(profile)).map(drop))?;
    let mut plain = Duration::ZERO;
    let mut confined = [Duration::ZERO; PROFILES.len()];
    for _ in 0..count {
        plain += run(None)?;
        for (profile, took) in PROFILES.iter().zip(&mut confined) {
            *took += run(Some(profile))?;
        }
    }
    let mean = |all: Duration| all.as_secs_f64() * 1000.0 / f64::from(count);
    print!("plain {:.4}", mean(plain));
    for ((name, ..), took) in PROFILES.iter().zip(confined) {
        print!(" {name} {:.4}", mean(took));
    }
    println!();
    Ok(())
}
