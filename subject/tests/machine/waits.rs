//! Waits that end, or don't, in ways of their own: what is left of them, who is stopped, who waits for a place.

use subject::Started;

use crate::{
    programs::{Lines, launch, python, quiet},
    server::{Server, on_one_thread},
    time::five_minutes,
};

/// `select` also tells how much of its time is left (select(2)), and loops go by that.
#[test]
fn nothing_is_left_of_a_select_whose_time_is_up() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, struct
libc = ctypes.CDLL(None)
print('start', flush=True)
left = ctypes.create_string_buffer(struct.pack('2q', 300, 0))
while any(left.raw[:16]): libc.select(0, None, None, None, left)
print('end', flush=True)";
    five_minutes(&[python.to_str().unwrap(), "-c", code]);
}

/// Whoever has stopped it can let it go on; until then nothing comes of it.
#[test]
fn a_stopped_child_is_no_reason_to_wait() {
    let code = "sleep 100 & kill -STOP $!; echo start; sleep 300; echo end; kill -CONT $!; wait; echo gone";
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&["sh", "-c", code])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        assert_eq!(lines.next().await, "start");
        let deadline = quiet(&mut process, &server).await.deadline.unwrap();
        assert!((299..=300).contains(&deadline.as_secs()), "{deadline:?}");
        process.advance(deadline).unwrap();
        assert_eq!(lines.next().await, "end");
        // It goes on with what was left of its sleep.
        let deadline = quiet(&mut process, &server).await.deadline.unwrap();
        process.advance(deadline).unwrap();
        assert_eq!(lines.next().await, "gone");
    });
}

/// Its call is looked at when it begins; then it waits for a place in the other's queue.
#[test]
fn a_connect_that_waits_for_a_place_is_a_wait() {
    let Some(python) = python() else { return };
    let code = "\
import socket, threading, time
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0full')
listener.listen(0)
def connect():
    for _ in range(2): kept.append(socket.socket(socket.AF_UNIX)); kept[-1].connect('\\0full')
    print('connected', flush=True)
kept = []
threading.Thread(target=connect, daemon=True).start()
time.sleep(300)
listener.accept()
time.sleep(1000)";
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        let deadline = quiet(&mut process, &server).await.deadline.unwrap();
        assert!((299..=300).contains(&deadline.as_secs()), "{deadline:?}");
        assert_eq!(lines.take(), 0, "it has no place yet");
        process.advance(deadline).unwrap();
        assert_eq!(lines.next().await, "connected");
    });
}

/// A timer file that goes off every thirty seconds, to which nobody listens for a hundred.
#[test]
fn what_nobody_has_read_of_a_timer_file_is_counted() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, os, struct, time
time.sleep(1) # seen to rest, so that the timer is set at a known time
libc = ctypes.CDLL(None)
timer = libc.timerfd_create(1, 0)
assert libc.timerfd_settime(timer, 0, struct.pack('4q', 30, 0, 30, 0), None) == 0
time.sleep(100)
print(*struct.unpack('Q', os.read(timer, 8)), flush=True)
begin = time.monotonic()
print(*struct.unpack('Q', os.read(timer, 8)), flush=True)
passed = time.monotonic() - begin
print('on time' if 20 <= passed < 30 else passed, flush=True)
time.sleep(1000)";
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        while lines.take() < 3 {
            let deadline = quiet(&mut process, &server).await.deadline.unwrap();
            process.advance(deadline).unwrap();
        }
        if process.blind_spots().iter().any(|spot| spot.contains("CONFIG_CHECKPOINT_RESTORE")) {
            return println!("skipped: this kernel can't be told what a timer file counts");
        }
        assert_eq!(lines.rest(), "3\n1\non time\n");
    });
}

/// The kernel's own thread for a ring looks as if it were in the call that made it, which is looked at first.
#[test]
fn the_kernels_threads_for_a_ring_are_asleep_when_they_sleep() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
polled = struct.pack('5I', 0, 0, 2, 0, 1) # IORING_SETUP_SQPOLL, for a millisecond
ring = libc.syscall(425, 4, ctypes.create_string_buffer(polled, 120))
print('ring' if ring >= 0 and len(os.listdir('/proc/self/task')) == 2 else 'none', flush=True)
time.sleep(300)
print('end', flush=True)";
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        if lines.next().await == "none" {
            return println!("skipped: this machine has no io_uring that is polled");
        }
        let deadline = quiet(&mut process, &server).await.deadline.unwrap();
        assert!((299..=300).contains(&deadline.as_secs()), "{deadline:?}");
        process.advance(deadline).unwrap();
        assert_eq!(lines.next().await, "end");
    });
}

/// Until the child has begun with its program, which opens a pipe first, the parent can't be interrupted.
#[test]
fn who_waits_for_a_child_as_in_vfork_is_asleep() {
    let Some(python) = python() else { return };
    let fifo = crate::programs::folder("vfork").join("fifo");
    let script = "\
rm -f \"$1\"; mkfifo \"$1\"
\"$0\" -c \"
import os
child = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 7'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, '$1', os.O_RDONLY, 0)])
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
\" &
echo start; sleep 300; : > \"$1\"; wait $!
[ $? = 7 ] && echo end";
    let command = ["sh", "-c", script, python.to_str().unwrap(), fifo.to_str().unwrap()];
    five_minutes(&command);
}
