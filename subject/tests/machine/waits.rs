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
