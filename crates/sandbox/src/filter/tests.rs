use super::*;

/// What a filter decides about a call, worked out as the kernel does.
fn decided(program: &[sock_filter], number: u32, arguments: [u32; 3]) -> u32 {
    let (mut held, mut at) = (0, 0);
    loop {
        let step = program[at];
        at += 1;
        let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        match u32::from(step.code) {
            LOAD => {
                held = match step.k {
                    NUMBER => number,
                    ARCHITECTURE => program[1].k,
                    place => arguments[usize::try_from((place - 16) / 8).unwrap()],
                }
            }
            EQUALS => at += jump(held == step.k),
            AT_LEAST => at += jump(held >= step.k),
            HAS_BIT => at += jump(held & step.k != 0),
            MASK => held &= step.k,
            RETURN => return step.k,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_number_is_decided_as_listed() {
    let refused = |list: &[&[c_long]]| -> Vec<u32> {
        list.concat().into_iter().map(|number| u32::try_from(number).unwrap()).collect()
    };
    let unasked = refused(&[NEVER, NEVER_UNASKED, CHANGES_BY_PATH]);
    let reading = refused(&[CHANGES_OF_OPENED, MODES_BY_PATH, MODES]);
    let by_arguments =
        [libc::SYS_clone, libc::SYS_socketpair, libc::SYS_prlimit64, libc::SYS_ioctl, libc::SYS_personality];
    for confinement in [Confinement::Reading, Confinement::Editing, Confinement::Asked] {
        let program = program(confinement).unwrap();
        assert!(program.len() < 256, "{confinement:?}: {} steps", program.len());
        for number in 0..600 {
            if by_arguments.contains(&c_long::from(number)) {
                continue;
            }
            let expected = match confinement {
                Confinement::Asked if refused(&[NEVER]).contains(&number) => REFUSE,
                Confinement::Asked => ALLOW,
                _ if ABSENT.contains(&c_long::from(number)) => ABSENT_CALL,
                _ if unasked.contains(&number) => REFUSE,
                Confinement::Reading if reading.contains(&number) => REFUSE,
                _ => ALLOW,
            };
            assert_eq!(decided(&program, number, [0; 3]), expected, "{confinement:?} {number}");
        }
        assert_eq!(decided(&program, 0x4000_0000, [0; 3]), ABSENT_CALL);
    }
}

#[test]
fn arguments_decide_where_they_are_looked_at() {
    let call = |number: c_long| u32::try_from(number).unwrap();
    let reading = program(Confinement::Reading).unwrap();
    let editing = program(Confinement::Editing).unwrap();
    let asked = program(Confinement::Asked).unwrap();
    let ioctl = call(libc::SYS_ioctl);
    for request in PLAIN_REQUESTS {
        assert_eq!(decided(&reading, ioctl, [1, request, 0]), ALLOW, "{request:x}");
    }
    for request in [0, 1, 0x5412, 0x541C, 0x5461, u32::MAX] {
        assert_eq!(decided(&reading, ioctl, [1, request, 0]), REFUSE, "{request:x}");
    }
    for (request, decision) in [(0x5412, REFUSE), (0x541C, REFUSE), (0x5401, ALLOW), (0, ALLOW)] {
        assert_eq!(decided(&asked, ioctl, [0, request, 0]), decision, "{request:x}");
    }
    let fchmodat = call(libc::SYS_fchmodat);
    assert_eq!(decided(&editing, fchmodat, [0, 0, 0o755]), ALLOW);
    assert_eq!(decided(&editing, fchmodat, [0, 0, 0o4755]), REFUSE);
    assert_eq!(decided(&editing, call(libc::SYS_fchmod), [0, 0o2755, 0]), REFUSE);
    assert_eq!(decided(&reading, call(libc::SYS_clone), [0x11, 0, 0]), ALLOW);
    assert_eq!(decided(&reading, call(libc::SYS_clone), [0x1000_0011, 0, 0]), REFUSE);
    let pair = call(libc::SYS_socketpair);
    for (family, kind, decision) in
        [(1, 1, ALLOW), (1, 0x80001, ALLOW), (1, 5, ALLOW), (1, 2, REFUSE), (2, 1, REFUSE)]
    {
        assert_eq!(decided(&reading, pair, [family, kind, 0]), decision, "{family} {kind}");
    }
    assert_eq!(decided(&reading, call(libc::SYS_prlimit64), [7, 0, 0]), REFUSE);
    assert_eq!(decided(&reading, call(libc::SYS_personality), [u32::MAX, 0, 0]), ALLOW);
}
