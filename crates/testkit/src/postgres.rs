//! A PostgreSQL of a test's own: a new cluster in a temporary folder, reached by a socket in it.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the database may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database server that ends with this value, and with this process.
pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    /// The user it runs as, where this process is root, which PostgreSQL refuses to be.
    user: Option<(u32, u32)>,
    server: Option<Child>,
    /// The port of this machine where it takes connections with TLS, too.
    port: Option<u16>,
}

impl Postgres {
    /// Makes a cluster and starts it. Needs PostgreSQL's programs, in the `PATH` or where Debian has them.
    pub fn start() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("charla-pg-").tempdir()?;
        let user = (std::fs::metadata("/proc/self")?.uid() == 0).then(unprivileged).transpose()?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group))?;
        }
        let mut made = Self { folder, programs: programs()?, user, server: None, port: None };
        let data = made.data();
        let status = made
            .program("initdb")
            .args(["--no-sync", "--auth=trust", "--username=charla", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(data)
            .stdout(Stdio::null())
            .status()?;
        match status.success() {
            true => made.start_again().map(|()| made),
            false => Err(io::Error::other("initdb failed")),
        }
    }

    /// The same, which also takes connections of this machine with TLS and shows this certificate (PEM, like its key).
    pub fn start_with_tls(certificate: &str, key: &str) -> io::Result<Self> {
        let mut started = Self::start()?;
        started.stop()?;
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = started.data().join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            if let Some((user, group)) = started.user {
                chown(&path, Some(user), Some(group))?;
            }
        }
        started.port = Some(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        started.start_again()?;
        Ok(started)
    }

    /// Where it takes connections with TLS, where it does.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Its address, for `--database`.
    pub fn address(&self) -> String {
        format!("host={} user=charla dbname=postgres", self.folder.path().display())
    }

    /// Ends the server as an administrator would who starts it anew: connections are cut, nothing is lost.
    pub fn stop(&mut self) -> io::Result<()> {
        self.signal("INT")?;
        self.wait_for_end()
    }

    /// Starts the server after a stop.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.start_with(&[])
    }

    /// The same, which recovers from an archive where each file takes this long to be found missing.
    pub fn start_again_slowly(&mut self, each: Duration) -> io::Result<()> {
        std::fs::write(self.data().join("recovery.signal"), "")?;
        let looking = format!("restore_command=sleep {}; false", each.as_secs_f32());
        self.start_with(&[&looking, "hot_standby=off"])
    }

    fn start_with(&mut self, settings: &[&str]) -> io::Result<()> {
        let (data, place) = (self.data(), self.folder.path().to_owned());
        let mut server = self.program("postgres");
        server.arg("-D").arg(data).arg("-k").arg(place);
        let listen = self.port.map_or("listen_addresses=", |_| "listen_addresses=127.0.0.1");
        let usual = [listen, "fsync=off", "max_connections=200", "shared_buffers=16MB"];
        for setting in usual.iter().chain(settings) {
            server.args(["-c", setting]);
        }
        if let Some(port) = self.port {
            server.args(["-c", "ssl=on", "-c", &format!("port={port}")]);
        }
        self.server = Some(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        self.wait_until_ready()
    }

    /// Runs one of PostgreSQL's programs against this server; what it printed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let mut command = self.program(program);
        command.args(["-h".as_ref(), self.folder.path()]).args(["-U", "charla"]).args(arguments);
        if let Some(port) = self.port {
            command.env("PGPORT", port.to_string());
        }
        let done = command.output()?;
        match done.status.success() {
            true => Ok(done.stdout),
            false => Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned())),
        }
    }

    /// A folder that the server's user may write to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program that ends when we do, as the user that the server is.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT"]);
        if let Some((user, group)) = self.user {
            command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
        }
        command.arg(self.programs.join(name)).current_dir(self.folder.path()).env("LC_ALL", "C");
        command
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.run("pg_isready", &["-q"]).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.server.as_mut().and_then(|server| server.try_wait().ok().flatten()) {
                return Err(io::Error::other(format!("postgres ended: {status}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        Command::new("kill").args([&format!("-{signal}"), &server.id().to_string()]).status().map(drop)
    }

    fn wait_for_end(&mut self) -> io::Result<()> {
        match self.server.take() {
            Some(mut server) => server.wait().map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once: what it holds goes with its folder.
        let _ = self.signal("QUIT").and_then(|()| self.wait_for_end());
    }
}

/// The folder of PostgreSQL's programs.
fn programs() -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    // What is in the path may be a link to one of the programs alone.
    let found = folders.iter().find_map(|folder| folder.join("initdb").canonicalize().ok());
    let folder = found.and_then(|program| Some(program.parent()?.to_owned()));
    folder.ok_or_else(|| io::Error::other("there is no PostgreSQL here: ./test installs it"))
}

/// A user to be in root's place.
fn unprivileged() -> io::Result<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd")?;
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let found = ids("postgres").or_else(|| ids("nobody"));
    found.ok_or_else(|| io::Error::other("there is no user to run PostgreSQL as"))
}
