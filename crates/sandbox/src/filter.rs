//! Which system calls a child may make.
//!
//! Landlock covers files by their paths, TCP and signals. This covers what it does not: every other socket, changes
//! of modes, owners, times and attributes, other processes' memory, and the calls with which a process could get out.

use std::collections::BTreeMap;

use charla_proto::Confinement;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::error::SandboxError;

/// A filter as the kernel takes it.
pub(crate) type Program = Vec<libc::sock_filter>;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Failed = seccompiler::BackendError;

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
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
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
    libc::SYS_shmget,
    libc::SYS_socket,
    libc::SYS_unshare,
];

/// Changes of modes, owners and attributes by path.
const CHANGES_BY_PATH: &[c_long] = &[
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchownat,
    FILE_SETATTR,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    REMOVEXATTRAT,
    libc::SYS_setxattr,
    SETXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Changes of opened files, and of times: editors and `cp` need them, readers do not.
const CHANGES_OF_OPENED: &[c_long] = &[
    libc::SYS_fchmod,
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

const NAMESPACES: [u32; 7] = [
    libc::CLONE_NEWNS as u32,
    libc::CLONE_NEWCGROUP as u32,
    libc::CLONE_NEWUTS as u32,
    libc::CLONE_NEWIPC as u32,
    libc::CLONE_NEWUSER as u32,
    libc::CLONE_NEWPID as u32,
    libc::CLONE_NEWNET as u32,
];

/// The filters for a confinement, to be installed one after the other.
pub(crate) fn programs(confinement: Confinement) -> Result<Vec<Program>, SandboxError> {
    let failed = |error: Failed| SandboxError::Missing(format!("no filter for system calls: {error}"));
    let mut refused = Rules::new();
    never(&mut refused, NEVER);
    let mut programs = Vec::new();
    match confinement {
        Confinement::Reading | Confinement::Editing => {
            never(&mut refused, NEVER_UNASKED);
            never(&mut refused, CHANGES_BY_PATH);
            if confinement == Confinement::Reading {
                never(&mut refused, CHANGES_OF_OPENED);
            }
            unasked(&mut refused).map_err(failed)?;
            let mut absent = Rules::new();
            never(&mut absent, ABSENT);
            programs.push(compile(absent, libc::ENOSYS).map_err(failed)?);
        }
        Confinement::Asked | Confinement::Open => {
            let tricks = TERMINAL_TRICKS.map(|request| one(1, SeccompCmpOp::Eq, request));
            refused.insert(libc::SYS_ioctl, tricks.into_iter().collect::<Result<_, _>>().map_err(failed)?);
        }
    }
    programs.push(compile(refused, libc::EPERM).map_err(failed)?);
    Ok(programs)
}

fn never(rules: &mut Rules, calls: &[c_long]) {
    rules.extend(calls.iter().map(|call| (*call, Vec::new())));
}

/// Calls that depend on their arguments.
fn unasked(rules: &mut Rules) -> Result<(), Failed> {
    use SeccompCmpOp::{MaskedEq, Ne};
    let namespaces: Result<Vec<_>, _> =
        NAMESPACES.map(|flag| one(0, MaskedEq(u64::from(flag)), flag)).into_iter().collect();
    rules.insert(libc::SYS_clone, namespaces?);
    // A pair of datagram sockets could be turned to another address.
    let kinds = [2_u32, 3, 4, 6, 10].map(|kind| one(1, MaskedEq(0xF), kind));
    let family = one(0, Ne, libc::AF_UNIX as u32);
    rules.insert(libc::SYS_socketpair, kinds.into_iter().chain([family]).collect::<Result<_, _>>()?);
    // Other processes' limits.
    rules.insert(libc::SYS_prlimit64, vec![one(0, Ne, 0)?]);
    let plain = PLAIN_REQUESTS.map(|request| condition(1, Ne, request));
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(plain.into_iter().collect::<Result<_, _>>()?)?]);
    let usual = [0, u32::MAX].map(|persona| condition(0, Ne, persona));
    rules
        .insert(libc::SYS_personality, vec![SeccompRule::new(usual.into_iter().collect::<Result<_, _>>()?)?]);
    Ok(())
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompCondition, Failed> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value))
}

fn one(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompRule, Failed> {
    SeccompRule::new(vec![condition(argument, operator, value)?])
}

/// A call of another architecture kills: its numbers mean something else.
fn compile(rules: Rules, errno: i32) -> Result<Program, Failed> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?;
    let program: BpfProgram = filter.try_into()?;
    let mut whole = refuse_x32();
    whole.extend(program.iter().map(|step| libc::sock_filter {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    }));
    Ok(whole)
}

/// On x86-64 every call has a second number, for programs with short pointers.
fn refuse_x32() -> Program {
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    const NUMBER: u32 = 0;
    const X32: u32 = 0x4000_0000;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}
