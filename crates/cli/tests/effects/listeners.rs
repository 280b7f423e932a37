//! Sockets of every kind that tell who came.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::world::NETWORK_CANARY;

/// What the test itself says to a socket, to know that everybody before it was seen.
const OURS: &[u8] = b"it is only the test";
/// How long a guest is listened to.
const ATTENTION: Duration = Duration::from_secs(2);

/// A socket and its thread, which lives as long as the test's process.
struct Listener {
    name: &'static str,
    guests: Receiver<Vec<u8>>,
    /// Comes as a guest with [`OURS`].
    visit: Box<dyn Fn() -> std::io::Result<()>>,
}

/// One socket of each kind.
pub struct Listeners {
    pub tcp4: u16,
    /// 9, where nobody listens, on a machine without IPv6.
    pub tcp6: u16,
    pub udp: u16,
    pub abstract_name: String,
    folder: tempfile::TempDir,
    listeners: Vec<Listener>,
}

impl Listeners {
    pub fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let abstract_name = format!("charla-effects{}", folder.path().display()).replace(['/', '.'], "-");
        let mut open = Self { tcp4: 9, tcp6: 9, udp: 9, abstract_name, folder, listeners: Vec::new() };
        open.tcp4 = open.listen_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(), "TCP over IPv4");
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
            open.tcp6 = open.listen_on(listener, "TCP over IPv6");
        }
        open.listen_on_datagrams();
        open.listen_on_paths();
        for place in [open.folder.path(), &open.stream(), &open.datagram()] {
            std::fs::set_permissions(place, Permissions::from_mode(0o777)).unwrap();
        }
        open
    }

    /// A stream socket's path.
    pub fn stream(&self) -> PathBuf {
        self.folder.path().join("stream")
    }

    /// A datagram socket's path.
    pub fn datagram(&self) -> PathBuf {
        self.folder.path().join("datagram")
    }

    /// Everybody who came since the last time, in words.
    pub fn guests(&self) -> Vec<String> {
        let mut guests = Vec::new();
        for listener in &self.listeners {
            (listener.visit)().unwrap();
            loop {
                match listener.guests.recv_timeout(Duration::from_secs(60)).unwrap() {
                    said if said == OURS => break,
                    said => guests.push(format!("{}: {:?}", listener.name, String::from_utf8_lossy(&said))),
                }
            }
        }
        guests
    }

    fn listen_on(&mut self, listener: TcpListener, name: &'static str) -> u16 {
        let address = listener.local_addr().unwrap();
        let guests = thread(move |guests| {
            loop {
                let (guest, _) = listener.accept()?;
                guest.set_read_timeout(Some(ATTENTION))?;
                guests.send(hear(guest)).ok();
            }
        });
        let visit = Box::new(move || TcpStream::connect(address)?.write_all(OURS));
        self.listeners.push(Listener { name, guests, visit });
        address.port()
    }

    fn listen_on_datagrams(&mut self) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        self.udp = address.port();
        let guests = thread(move |guests| {
            let mut said = [0; 256];
            loop {
                let (length, _) = socket.recv_from(&mut said)?;
                guests.send(said[..length].to_vec()).ok();
            }
        });
        let visit =
            Box::new(move || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.send_to(OURS, address).map(|_| ()));
        self.listeners.push(Listener { name: "UDP", guests, visit });

        let path = self.datagram();
        let socket = UnixDatagram::bind(&path).unwrap();
        let guests = thread(move |guests| {
            let mut said = [0; 256];
            loop {
                let length = socket.recv(&mut said)?;
                guests.send(said[..length].to_vec()).ok();
            }
        });
        let visit = Box::new(move || UnixDatagram::unbound()?.send_to(OURS, &path).map(|_| ()));
        self.listeners.push(Listener { name: "unix datagram", guests, visit });
    }

    fn listen_on_paths(&mut self) {
        let by_path = SocketAddr::from_pathname(self.stream()).unwrap();
        let by_name = SocketAddr::from_abstract_name(&self.abstract_name).unwrap();
        for (address, name) in [(by_path, "unix stream"), (by_name, "abstract unix stream")] {
            let listener = UnixListener::bind_addr(&address).unwrap();
            let guests = thread(move |guests| {
                loop {
                    let (guest, _) = listener.accept()?;
                    guest.set_read_timeout(Some(ATTENTION))?;
                    guests.send(hear(guest)).ok();
                }
            });
            let visit = Box::new(move || UnixStream::connect_addr(&address)?.write_all(OURS));
            self.listeners.push(Listener { name, guests, visit });
        }
    }
}

fn thread(work: impl FnOnce(Sender<Vec<u8>>) -> std::io::Result<()> + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || work(sender).unwrap());
    receiver
}

/// The first words of a guest, who gets an answer that must not be seen anywhere.
fn hear(mut guest: impl Read + Write) -> Vec<u8> {
    let mut said = vec![0; 256];
    let length = guest.read(&mut said).unwrap_or(0);
    said.truncate(length);
    guest.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{NETWORK_CANARY}\n").as_bytes()).ok();
    said
}
