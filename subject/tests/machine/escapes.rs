//! Programs that do not do as others do: read clocks around the vDSO, spin until time has passed, and dice.

use subject::{Determinism, Started};

use crate::{
    programs::{Lines, launch, output_of, python, quiet},
    server::{Server, on_one_thread},
};

const DAY: i64 = 86_400 * 1_000_000_000;

/// Raw system calls, with every clock and every way to ask: the same times as through the C library.
#[test]
fn raw_system_calls_are_answered_with_the_worlds_time() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
class T(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('f', ctypes.c_long)]
t = T()
for clock in (0, 1, 4, 5, 6, 7):
    before = time.clock_gettime_ns(clock)
    assert libc.syscall(228, clock, ctypes.byref(t)) == 0
    assert before <= t.s * 10**9 + t.f <= time.clock_gettime_ns(clock), clock
before = time.time_ns() // 1000
assert libc.syscall(96, ctypes.byref(t), None) == 0
assert before <= t.s * 10**6 + t.f <= time.time_ns() // 1000 and 0 <= t.f < 10**6
slot = ctypes.c_long()
before = int(time.time())
assert before <= libc.syscall(201, ctypes.byref(slot)) == slot.value <= time.time()
assert libc.syscall(228, 2, ctypes.byref(t)) == 0 and t.s < 100
assert libc.syscall(228, 77, ctypes.byref(t)) == -1 and ctypes.get_errno() == 22
assert libc.syscall(228, 0, None) == -1 and ctypes.get_errno() == 14
print('right')
";
    let mut launch = launch(&[python.to_str().unwrap(), "-c", code]);
    launch.clock = subject::Pace::Virtual { ahead: 4000 * DAY + 123_456_789 };
    assert_eq!(output_of(&launch), "right\n");
}

/// It reads the clock by a system call, in a jump's way, as a runtime without vDSO would.
#[test]
fn a_jump_is_seen_by_raw_system_calls() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, time
libc = ctypes.CDLL(None)
t = (ctypes.c_long * 2)()
def now(): libc.syscall(228, 1, t); return t[0]
begin = now()
time.sleep(300)
assert 300 <= now() - begin < 310, now() - begin
print('end', flush=True)
";
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let server = Server::serve(listener);
        let found = quiet(&mut process, &server).await;
        process.advance(found.deadline.unwrap()).unwrap();
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

/// Time creeps while a program works, but one that waits for it without sleeping gets there.
#[test]
fn who_spins_until_time_has_passed_comes_to_its_end() {
    let Some(python) = python() else { return };
    let code = "\
import time
end = time.monotonic() + 0.5
while time.monotonic() < end: pass
print('end', flush=True)
time.sleep(1000)
";
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let (server, clock) = (Server::serve(listener), process.reader());
        let began = clock.wall().unwrap();
        quiet(&mut process, &server).await;
        let passed = clock.wall().unwrap() - began;
        assert!(passed > 400_000_000, "{passed} ns");
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

/// A wait that is over by the subject's clock while another thread works is ended all the same.
#[test]
fn a_wait_that_is_over_while_others_work_ends() {
    let Some(python) = python() else { return };
    let code = "\
import threading, time
done = threading.Event()
def wait():
    time.sleep(0.001)
    done.set()
threading.Thread(target=wait).start()
while not done.is_set(): pass
print('end', flush=True)
time.sleep(1000)
";
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let server = Server::serve(listener);
        quiet(&mut process, &server).await;
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

#[test]
fn addresses_and_processors_can_be_fixed() {
    let code = "import os; print(id(object()), len(os.sched_getaffinity(0)))";
    let Some(python) = python() else { return };
    let mut launch = launch(&[python.to_str().unwrap(), "-S", "-c", code]);
    launch.env.push(("PYTHONHASHSEED".into(), "0".into()));
    launch.determinism = Determinism { processors: Some(1), fixed_addresses: true };
    let said = output_of(&launch);
    assert!(said.ends_with(" 1\n"), "{said}");
    assert_eq!(output_of(&launch), said);
}
