//! Recognises a command that ran into the wall.

use charla_proto::Confinement;

/// How programs say that the system refused something.
const SIGNS: [&str; 9] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "no new privileges",
    "permissionerror",
    "device or resource busy",
];

/// The signal of a system call that a filter forbids.
const SIGSYS: i32 = 31;

/// The sign of the wall in how a command ended: the words it said, if it may have been refused something.
pub fn denial(
    confinement: Confinement,
    code: Option<i32>,
    signal: Option<i32>,
    output: &str,
) -> Option<&'static str> {
    if confinement == Confinement::Open {
        return None;
    }
    if signal == Some(SIGSYS) {
        return Some("a system call was refused");
    }
    if code == Some(0) {
        return None;
    }
    let output = output.to_ascii_lowercase();
    SIGNS.into_iter().find(|sign| output.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_other_failures() {
        let of = |code, signal, output| denial(Confinement::Reading, code, signal, output);
        assert_eq!(of(Some(1), None, "touch: x: Permission denied"), Some("permission denied"));
        assert_eq!(
            of(Some(128), None, "fatal: Unable to create: Read-only file system"),
            Some("read-only file system")
        );
        assert_eq!(of(None, Some(31), ""), Some("a system call was refused"));
        assert_eq!(of(Some(0), None, "grep: Permission denied"), None);
        assert_eq!(of(Some(2), None, "no such file"), None);
        assert_eq!(denial(Confinement::Open, Some(1), None, "permission denied"), None);
    }
}
