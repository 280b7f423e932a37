//! Which system calls a child may make.
//!
//! Landlock covers files by their paths, TCP and signals. This covers what it does not: every other socket, changes
//! of modes, owners, times and attributes, other processes' memory, and the calls with which a process could get out.

//!
//! The filter is a tree over the numbers of the calls. When it is installed, the kernel tries it on every number, so a long
//! chain of comparisons would be dear for each command.

use std::collections::BTreeMap;

use charla_proto::Confinement;
use libc::{c_long, sock_filter};

use crate::error::SandboxError;

/// A filter as the kernel takes it.
pub(crate) type Program = Vec<sock_filter>;

/// What root keeps of its capabilities: DAC_OVERRIDE. To be kept from files of other users is no part of the wall.
pub(crate) const FILE_CAPABILITIES: u64 = 1 << 1;
/// What root keeps when a person agreed: also CHOWN, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP,
/// NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, AUDIT_WRITE, SETFCAP.
pub(crate) const ASKED_CAPABILITIES: u64 = FILE_CAPABILITIES
    | 1
    | 1 << 3
    | 1 << 4
    | 1 << 5
    | 1 << 6
    | 1 << 7
    | 1 << 8
    | 1 << 10
    | 1 << 13
    | 1 << 18
    | 1 << 29
    | 1 << 31;

/// Refused to every confined child: the kernel, its modules and clocks, mounts, keys, files by number.
const NEVER: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
];

/// Refused to reading and editing children, too: other processes, queues and memory that others share, sockets.
const NEVER_UNASKED: &[c_long] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_chroot,
    libc::SYS_connect,
    libc::SYS_kcmp,
    libc::SYS_listen,
    libc::SYS_memfd_secret,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_semget,
    libc::SYS_setns,
    // Whatever leaves the session is hard to find again when the command is to end.
    libc::SYS_setsid,
    libc::SYS_shmget,
    libc::SYS_socket,
    libc::SYS_unshare,
];

/// Changes of modes by path; the mode is the third argument.
const MODES_BY_PATH: &[c_long] = &[libc::SYS_fchmodat, FCHMODAT2];
/// The same, with the mode as the second argument, and that of an opened file.
const MODES: &[c_long] = &[
    libc::SYS_fchmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
];
/// The bits of a mode that give a file's rights to whoever runs it.
const SPECIAL_MODES: u32 = 0o6000;

/// Changes of owners and attributes by path.
const CHANGES_BY_PATH: &[c_long] = &[
    libc::SYS_fchownat,
    FILE_SETATTR,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    REMOVEXATTRAT,
    libc::SYS_setxattr,
    SETXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Changes of opened files, and of times: editors and `cp` need them, readers do not.
const CHANGES_OF_OPENED: &[c_long] = &[
    libc::SYS_fchown,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

/// Answered as by a kernel that does not have them, so that programs go another way: `clone3` has its flags in
/// memory, where no filter sees them, and `io_uring` makes calls past the filter.
const ABSENT: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_uring_setup];

const QUOTACTL_FD: c_long = 443;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

/// Requests to terminals that type for the user or draw on the console.
const TERMINAL_TRICKS: [u32; 2] = [0x5412, 0x541C];

/// The only requests to devices and files that readers and editors make: sizes and modes of terminals, flags of
/// descriptors, attributes and extents of files, clones of them.
const PLAIN_REQUESTS: [u32; 24] = [
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x540B,
    0x540F,
    0x5410,
    0x5411,
    0x5413,
    0x541B,
    0x5421,
    0x5429,
    0x5450,
    0x5451,
    0x5452,
    0x802C_542A,
    0x8008_6601,
    0x801C_581F,
    0xC020_660B,
    0x0002,
    0x4004_9409,
    0x4020_940D,
    0x8004_5430,
    0x5460,
];

/// The flags of `clone` that make namespaces.
const NAMESPACES: u32 = 0x7E02_0000;

/// What becomes of a call: the steps of a filter that end with a decision. The number of the call was looked at already.
type Body = Program;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ABSENT_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The filter for a confinement.
pub(crate) fn program(confinement: Confinement) -> Result<Program, SandboxError> {
    let mut calls: BTreeMap<u32, Body> = BTreeMap::new();
    let mut set = |numbers: &[c_long], body: Body| {
        let numbers = numbers.iter().filter_map(|number| u32::try_from(*number).ok());
        calls.extend(numbers.map(|number| (number, body.clone())));
    };
    set(NEVER, decide(REFUSE));
    match confinement {
        Confinement::Reading | Confinement::Editing => {
            set(NEVER_UNASKED, decide(REFUSE));
            set(CHANGES_BY_PATH, decide(REFUSE));
            match confinement {
                Confinement::Reading => {
                    set(CHANGES_OF_OPENED, decide(REFUSE));
                    set(MODES_BY_PATH, decide(REFUSE));
                    set(MODES, decide(REFUSE));
                }
                // What it must not change lies on mounts that are read-only.
                _ => {
                    set(MODES_BY_PATH, if_any_bit(2, SPECIAL_MODES, REFUSE));
                    set(MODES, if_any_bit(1, SPECIAL_MODES, REFUSE));
                }
            }
            set(ABSENT, decide(ABSENT_CALL));
            set(&[libc::SYS_clone], if_any_bit(0, NAMESPACES, REFUSE));
            set(&[libc::SYS_socketpair], pairs_of_streams());
            // Other processes' limits.
            set(&[libc::SYS_prlimit64], only(0, &[0]));
            set(&[libc::SYS_ioctl], only(1, &PLAIN_REQUESTS));
            set(&[libc::SYS_personality], only(0, &[0, u32::MAX]));
        }
        Confinement::Asked | Confinement::Open => set(&[libc::SYS_ioctl], all_but(1, &TERMINAL_TRICKS)),
    }
    let mut program = header()?;
    program.extend(Layout::of(&calls).steps()?);
    Ok(program)
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const HAS_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const MASK: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Where the kernel shows a call: its number, the architecture, and the low half of an argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// One step; a comparison skips `yes` or `no` steps.
fn step(code: u32, yes: u8, no: u8, value: u32) -> sock_filter {
    // All codes fit.
    sock_filter { code: code as u16, jt: yes, jf: no, k: value }
}

fn decide(decision: u32) -> Body {
    vec![step(RETURN, 0, 0, decision)]
}

/// Refused where an argument has one of these bits.
fn if_any_bit(index: u32, bits: u32, decision: u32) -> Body {
    vec![
        step(LOAD, 0, 0, argument(index)),
        step(HAS_BIT, 0, 1, bits),
        step(RETURN, 0, 0, decision),
        step(RETURN, 0, 0, ALLOW),
    ]
}

/// Refused unless an argument is one of these.
fn only(index: u32, values: &[u32]) -> Body {
    chosen(index, values, ALLOW, REFUSE)
}

/// Refused where an argument is one of these.
fn all_but(index: u32, values: &[u32]) -> Body {
    chosen(index, values, REFUSE, ALLOW)
}

fn chosen(index: u32, values: &[u32], then: u32, otherwise: u32) -> Body {
    let mut body = vec![step(LOAD, 0, 0, argument(index))];
    // To the last step, past those that are left and the one before it.
    let past = (1..=values.len()).rev().map(|left| u8::try_from(left).unwrap_or(u8::MAX));
    body.extend(values.iter().zip(past).map(|(value, past)| step(EQUALS, past, 0, *value)));
    body.extend([step(RETURN, 0, 0, otherwise), step(RETURN, 0, 0, then)]);
    body
}

/// Pairs of connected streams only: a datagram socket could be turned to another address.
fn pairs_of_streams() -> Body {
    const KIND: u32 = 0xF;
    let mut body = vec![
        step(LOAD, 0, 0, argument(0)),
        step(EQUALS, 1, 0, libc::AF_UNIX as u32),
        step(RETURN, 0, 0, REFUSE),
        step(LOAD, 0, 0, argument(1)),
        step(MASK, 0, 0, KIND),
    ];
    for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
        body.extend([step(EQUALS, 0, 1, kind as u32), step(RETURN, 0, 0, ALLOW)]);
    }
    body.extend(decide(REFUSE));
    body
}

/// A call of another architecture kills: its numbers mean something else. On x86-64 every call has a second number, for
/// programs with short pointers; those are not there.
fn header() -> Result<Program, SandboxError> {
    const X86_64: u32 = 0xC000_003E;
    const AARCH64: u32 = 0xC000_00B7;
    const SHORT_POINTERS: u32 = 0x4000_0000;
    let architecture = match std::env::consts::ARCH {
        "x86_64" => X86_64,
        "aarch64" => AARCH64,
        other => return Err(SandboxError::Missing(format!("no filter for system calls of {other}"))),
    };
    Ok(vec![
        step(LOAD, 0, 0, ARCHITECTURE),
        step(EQUALS, 1, 0, architecture),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, 0, 0, NUMBER),
        step(AT_LEAST, 0, 1, SHORT_POINTERS),
        step(RETURN, 0, 0, ABSENT_CALL),
    ])
}

/// A tree over ranges of numbers, and behind it what becomes of the calls, each once: the kernel converts and compiles all of it
/// for every command, so that each step counts.
struct Layout {
    nodes: Vec<Node>,
    bodies: Vec<Body>,
}

/// A comparison with the first number of the upper half.
struct Node {
    first: u32,
    lower: Target,
    upper: Target,
}

/// Where a comparison leads, by its index.
#[derive(Clone, Copy)]
enum Target {
    Node(usize),
    Body(usize),
}

impl Layout {
    /// What is not listed is allowed.
    fn of(calls: &BTreeMap<u32, Body>) -> Self {
        let mut layout = Self { nodes: Vec::new(), bodies: vec![decide(ALLOW)] };
        let mut ranges: Vec<(u32, usize)> = vec![(0, 0)];
        for (number, body) in calls {
            let known = layout.bodies.iter().position(|known| same(known, body));
            let body = known.unwrap_or_else(|| {
                layout.bodies.push(body.clone());
                layout.bodies.len() - 1
            });
            ranges.retain(|(first, _)| first != number);
            ranges.extend([(*number, body), (number.saturating_add(1), 0)]);
        }
        ranges.dedup_by_key(|(_, body)| *body);
        layout.split(&ranges);
        layout
    }

    /// Finds a range by halves.
    fn split(&mut self, ranges: &[(u32, usize)]) -> Target {
        let (lower, upper) = ranges.split_at(ranges.len() / 2);
        match (lower, upper) {
            (_, []) => Target::Body(0),
            ([], [(_, body), ..]) => Target::Body(*body),
            (_, [(first, _), ..]) => {
                let index = self.nodes.len();
                self.nodes.push(Node {
                    first: *first,
                    lower: Target::Node(index),
                    upper: Target::Node(index),
                });
                let (lower, upper) = (self.split(lower), self.split(upper));
                self.nodes[index] = Node { first: *first, lower, upper };
                Target::Node(index)
            }
        }
    }

    /// The steps; an error where a comparison would have to skip more than it can.
    fn steps(&self) -> Result<Program, SandboxError> {
        let place = |target| match target {
            Target::Node(index) => index,
            Target::Body(index) => {
                self.nodes.len() + self.bodies.iter().take(index).map(Vec::len).sum::<usize>()
            }
        };
        let too_long = |_| SandboxError::Missing("the filter for system calls is too long".to_owned());
        let mut program = Program::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let skip = |target| u8::try_from(place(target) - index - 1).map_err(too_long);
            program.push(step(AT_LEAST, skip(node.upper)?, skip(node.lower)?, node.first));
        }
        program.extend(self.bodies.iter().flatten());
        Ok(program)
    }
}

fn same(one: &[sock_filter], other: &[sock_filter]) -> bool {
    let parts = |step: &sock_filter| (step.code, step.jt, step.jf, step.k);
    one.iter().map(parts).eq(other.iter().map(parts))
}

#[cfg(test)]
mod tests;
