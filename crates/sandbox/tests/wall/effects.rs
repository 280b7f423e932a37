//! A table of what is tried, and who may.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use charla_sandbox::Confinement::{self, Asked, Editing, Open, Reading};
use charla_sandbox::Wall;

use crate::ground::{Bystander, Ground, said};

/// Python code, and the confinements in which it succeeds.
const TABLE: &[(&str, &str, &[Confinement])] = &[
    // Files.
    ("read the workspace", "open('plain').read()", &[Reading, Editing, Asked, Open]),
    ("list the workspace", "os.listdir('.')", &[Reading, Editing, Asked, Open]),
    ("read a folder of it", "open('src/main.rs').read()", &[Reading, Editing, Asked, Open]),
    ("read a secret of it", "assert open('.env').read() == 'CANARY'", &[Asked, Open]),
    ("read a secret below", "assert open('src/.env').read() == 'CANARY'", &[Asked, Open]),
    ("read a secret folder", "open('secrets/deep/a').read()", &[Asked, Open]),
    ("read a secret by its other name", "assert open('twin').read() == 'CANARY'", &[Asked, Open]),
    ("read through a link out", "open('way_out').read()", &[Asked, Open]),
    ("read outside", "open(G + '/outside').read()", &[Asked, Open]),
    ("read the home's keys", "open(G + '/home/.ssh/id_rsa').read()", &[Open]),
    ("read a tool's keys", "open(G + '/home/.cargo/credentials.toml').read()", &[Open]),
    ("read the home's notes", "open(G + '/home/notes/plan').read()", &[Asked, Open]),
    ("read git's settings", "open(G + '/home/.gitconfig').read()", &[Reading, Editing, Asked, Open]),
    ("read the system", "open('/etc/passwd').read()", &[Reading, Editing, Asked, Open]),
    ("read passwords", "open('/etc/shadow').read()", &[Open]),
    ("write the workspace", "open('plain', 'w').write('x')", &[Editing, Asked, Open]),
    ("append", "open('plain', 'a').write('x')", &[Editing, Asked, Open]),
    ("cut", "os.truncate('plain', 0)", &[Editing, Asked, Open]),
    ("make a file and read it", "open('new', 'w').write('x'); open('new').read()", &[Editing, Asked, Open]),
    ("make a folder", "os.mkdir('folder')", &[Editing, Asked, Open]),
    ("make a link", "os.symlink('a', 'link')", &[Editing, Asked, Open]),
    ("make a hard link", "os.link('plain', 'link')", &[Editing, Asked, Open]),
    ("make a pipe", "os.mkfifo('pipe')", &[Editing, Asked, Open]),
    ("remove", "os.unlink('plain')", &[Editing, Asked, Open]),
    ("rename", "os.rename('plain', 'src/moved')", &[Editing, Asked, Open]),
    ("write outside", "open(G + '/outside', 'w')", &[Open]),
    ("make a file outside", "open(G + '/new', 'w')", &[Open]),
    ("write through a link out", "open('way_out', 'w')", &[Open]),
    ("move out", "os.rename('plain', G + '/moved')", &[Open]),
    ("write a build's cache", "open(G + '/home/.cache/x', 'w')", &[Asked, Open]),
    ("write the home", "open(G + '/home/.bashrc', 'w')", &[Open]),
    ("write keys", "open(G + '/home/.ssh/authorized_keys', 'w')", &[Open]),
    ("write shared temporary files", "import tempfile; tempfile.mkstemp(dir='/tmp')", &[Asked, Open]),
    ("write temporary files", "import tempfile; tempfile.mkstemp()", &[Reading, Editing, Asked, Open]),
    ("write to nowhere", "open('/dev/null', 'w').write('x')", &[Reading, Editing, Asked, Open]),
    ("open the terminal", "open('/dev/tty')", &[]),
    // Protected places.
    ("make a hook", "open('.git/hooks/pre-commit', 'w')", &[Asked, Open]),
    ("make a hook through a link", "open('hooks/pre-commit', 'w')", &[Asked, Open]),
    ("write git's settings", "open('.git/config', 'a').write('x')", &[Asked, Open]),
    ("move git away", "os.rename('.git', 'gone')", &[Asked, Open]),
    ("move into it", "os.rename('plain', '.git/hooks/post-commit')", &[Asked, Open]),
    ("link into it", "os.link('plain', '.git/hooks/post-commit')", &[Asked, Open]),
    ("write instructions", "open('AGENTS.md', 'a').write('x')", &[Asked, Open]),
    ("replace instructions", "open('n', 'w'); os.rename('n', 'AGENTS.md')", &[Asked, Open]),
    ("remove instructions", "os.unlink('AGENTS.md')", &[Asked, Open]),
    ("move a secret to read it", "os.rename('.env', 'e'); open('e').read()", &[Asked, Open]),
    ("link a secret to read it", "os.link('.env', 'e'); assert open('e').read() == 'CANARY'", &[Asked, Open]),
    (
        "move its folder to read it",
        "os.rename('src', 's'); assert open('s/.env').read() == 'CANARY'",
        &[Asked, Open],
    ),
    (
        "write a secret",
        "open('src/.env', 'w').write('x'); assert os.path.getsize('src/.env') == 1",
        &[Asked, Open],
    ),
    // What belongs to a file.
    ("change a mode", "os.chmod('plain', 0o777)", &[Editing, Asked, Open]),
    ("change a mode by number", "call(452, -100, b'plain', 0o777, 0)", &[Editing, Asked, Open]),
    (
        "change an opened file's mode",
        "os.fchmod(os.open('plain', os.O_RDONLY), 0o700)",
        &[Editing, Asked, Open],
    ),
    ("change times", "os.utime('plain', (1, 1))", &[Editing, Asked, Open]),
    ("change the owner", "os.chown('plain', os.getuid(), os.getgid())", &[Asked, Open]),
    ("change attributes", "os.setxattr('plain', 'user.x', b'y')", &[Asked, Open]),
    (
        "change flags",
        "import fcntl; fcntl.ioctl(os.open('plain', os.O_RDONLY), 0x40086602, b'\\0' * 8)",
        &[Asked, Open],
    ),
    ("make a device", "os.mknod('null', 0o20666, os.makedev(1, 3))", &[Open]),
    (
        "run the workspace's script",
        "import subprocess; subprocess.run(['./script.sh'], check=True)",
        &[Asked, Open],
    ),
    (
        "run a tool chain",
        "import subprocess; subprocess.run([G + '/home/.cargo/bin/tool'], check=True)",
        &[Reading, Editing, Asked, Open],
    ),
    (
        "run the system's programs",
        "import subprocess; subprocess.run(['ls', '-l'], check=True)",
        &[Reading, Editing, Asked, Open],
    ),
    // Networks.
    ("TCP", "socket.socket(socket.AF_INET, socket.SOCK_STREAM)", &[Asked, Open]),
    ("UDP", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", &[Asked, Open]),
    ("TCP over IPv6", "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)", &[Asked, Open]),
    ("a unix socket", "socket.socket(socket.AF_UNIX)", &[Asked, Open]),
    ("a netlink socket", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", &[Asked, Open]),
    ("a vsock socket", "assert socket.socket(40, socket.SOCK_STREAM)", &[Asked, Open]),
    (
        "a pair of streams",
        "a, b = socket.socketpair(); a.send(b'x'); b.recv(1)",
        &[Reading, Editing, Asked, Open],
    ),
    ("a pair of datagrams", "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", &[Asked, Open]),
    ("connect a pair elsewhere", "a, b = socket.socketpair(); a.connect('\\0x')", &[]),
    // Other processes.
    ("trace", "done(libc.ptrace(0, 0, 0, 0))", &[Asked, Open]),
    (
        "start a process",
        "import subprocess; subprocess.run(['true'], check=True)",
        &[Reading, Editing, Asked, Open],
    ),
    (
        "signal a child",
        "p = os.fork()\nif p == 0: import time; time.sleep(100)\nos.kill(p, 9); os.wait()",
        &[Reading, Editing, Asked, Open],
    ),
    ("read the parent's variables", "open('/proc/%d/environ' % os.getppid()).read()", &[Open]),
    ("read the parent's memory", "open('/proc/%d/mem' % os.getppid(), 'rb')", &[Open]),
    ("read the parent's words", "open('/proc/%d/cmdline' % os.getppid()).read()", &[Asked, Open]),
    (
        "list the parent's files",
        "[os.readlink('/proc/%d/fd/%s' % (os.getppid(), f)) for f in ['0']]",
        &[Open],
    ),
    (
        "limit the parent",
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
        &[Asked, Open],
    ),
    ("take a parent's descriptor", "f = call(434, os.getppid(), 0); call(438, f, 0, 0)", &[Open]),
    // The kernel.
    ("a user namespace", "done(libc.unshare(0x10000000))", &[Asked, Open]),
    ("a process in a namespace", "call(56, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)", &[Asked, Open]),
    ("mount", "done(libc.mount(b'x', G.encode(), b'tmpfs', 0, None))", &[Open]),
    ("io_uring", "p = ctypes.create_string_buffer(120); call(425, 1, p)", &[Asked, Open]),
    ("keys", "call(248, b'user', b'x', b'y', 1, -3)", &[Open]),
    ("a file by its number", "call(304, -100, ctypes.create_string_buffer(136), 0)", &[]),
    ("events of the processor", "call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)", &[]),
    ("programs in the kernel", "call(321, 0, ctypes.create_string_buffer(72), 72)", &[Open]),
    ("another session", "os.setsid()", &[]),
    ("more rights", "assert 'NoNewPrivs:\\t0' in open('/proc/self/status').read()", &[Open]),
];

/// Rows whose success in the open depends on the kernel or on who runs the tests; there only a refusal is wanted.
const UNSURE_IN_THE_OPEN: &[&str] = &[
    "a vsock socket",
    "keys",
    "programs in the kernel",
    "io_uring",
    "a user namespace",
    "a process in a namespace",
    "mount",
    "make a device",
    "read passwords",
    "take a parent's descriptor",
    "change attributes",
    "change flags",
    "read the parent's variables",
    "read the parent's memory",
    "list the parent's files",
];

/// Tries every row in a confinement.
fn try_all(confinement: Confinement) {
    let mut wrong = Vec::new();
    // Nothing is changed there by a reading child, or a row is wrong.
    let untouched = Ground::new();
    for (what, code, who) in TABLE {
        let allowed = who.contains(&confinement);
        if allowed && UNSURE_IN_THE_OPEN.contains(what) && confinement >= Asked {
            continue;
        }
        let fresh = (confinement != Reading).then(Ground::new);
        let output = fresh.as_ref().unwrap_or(&untouched).python(confinement, code);
        if output.status.success() != allowed {
            let verb = if allowed { "could not" } else { "could" };
            wrong.push(format!("{confinement:?} {verb} {what}: {}", said(&output)));
        }
        // A mistake in the code is no refusal.
        let mistake = ["SyntaxError", "NameError", "AttributeError", "ImportError", "TypeError"];
        if mistake.iter().any(|mistake| said(&output).contains(mistake)) {
            wrong.push(format!("{what}: {}", said(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_reading_child_can_do_what_the_table_says_and_nothing_else() {
    try_all(Reading);
}

#[test]
fn an_editing_child_can_do_what_the_table_says_and_nothing_else() {
    try_all(Editing);
}

#[test]
fn an_approved_child_can_do_what_the_table_says_and_nothing_else() {
    try_all(Asked);
}

#[test]
fn an_open_child_can_do_what_the_table_says() {
    try_all(Open);
}

#[test]
fn a_refused_call_leaves_no_trace() {
    let ground = Ground::new();
    for (what, code, _) in TABLE {
        ground.python(Reading, code);
        assert_eq!(ground.read("ws/plain"), "plain", "{what}");
        assert_eq!(ground.read("outside"), "CANARY", "{what}");
    }
    let names: Vec<_> =
        std::fs::read_dir(ground.path("ws")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 10, "{names:?}");
}

#[test]
fn no_secret_comes_out_of_a_sweep() {
    let ground = Ground::new();
    let sweep = "grep -ra . . 2>&1; cat .env twin src/.env secrets/deep/a $G/outside $HOME/.ssh/*; tar cf - . | cat; find . | xargs cat; env";
    for confinement in [Reading, Editing] {
        let output = ground.shell(confinement, sweep);
        let text = said(&output);
        assert!(text.contains("fn main") && text.contains("be good"), "{text}");
        assert!(!text.contains("CANARY"), "{confinement:?}: {text}");
    }
}

#[test]
fn signals_stay_inside() {
    let mut bystander = Bystander::new();
    let ground = Ground::new();
    let kill = format!("kill -9 {}", bystander.0.id());
    if Wall::look().landlock >= 6 {
        for confinement in [Reading, Editing] {
            assert!(!ground.shell(confinement, &kill).status.success());
            assert!(bystander.0.try_wait().unwrap().is_none());
        }
    }
    assert!(ground.shell(Asked, &kill).status.success());
    bystander.0.wait().unwrap();
}

#[test]
fn abstract_and_other_sockets_are_not_reached() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("charla-sandbox-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let ground = Ground::new();
    let _other = std::os::unix::net::UnixListener::bind(ground.path("ws/socket")).unwrap();
    let codes = [
        format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
        "socket.socket(socket.AF_UNIX).connect('socket')".to_owned(),
    ];
    for code in &codes {
        assert!(ground.python(Open, code).status.success());
        for confinement in [Reading, Editing] {
            assert!(!ground.python(confinement, code).status.success(), "{code}");
        }
    }
}

#[test]
fn descriptors_of_ours_are_not_inherited() {
    let ground = Ground::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    // A descriptor that would be inherited.
    let leaked = rustix::io::fcntl_dupfd_cloexec(&writer, 100).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let code = format!("os.write({}, b'x')", leaked.as_raw_fd());
    for confinement in [Reading, Editing, Asked, Open] {
        assert!(!ground.python(confinement, &code).status.success(), "{confinement:?}");
    }
    let (mut writer, mut byte) = (writer, [0]);
    writer.write_all(b"y").unwrap();
    reader.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"y");
}

#[test]
fn nobody_has_a_terminal() {
    let ground = Ground::new();
    for confinement in [Reading, Editing, Asked, Open] {
        let output = ground.shell(confinement, "cut -d' ' -f5-7 < /proc/self/stat; : < /dev/tty");
        assert!(said(&output).contains("/dev/tty:"), "{confinement:?}: {}", said(&output));
        let code = "import fcntl; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b'x')";
        let typed = ground.python(confinement, code).status.success();
        assert!(!typed || confinement == Open, "{confinement:?}");
    }
}
