//! What a look can't see: it waits for it, or it is named.

use std::path::Path;

use subject::{ClockAbility, Pinned, Started};

use crate::{
    programs::{Lines, ask, folder, go, launch, python, quiet, static_go},
    server::{Server, on_one_thread},
};

/// Waits for a child while something else is ready to run, on a runtime with one processor.
const HELD: &str = r#"
package main

import (
	"os"
	"os/exec"
	"time"
)

func work(n int) (x int) {
	for i := 0; i < n; i++ {
		x += i * i
	}
	return
}

func main() {
	for {
		time.Sleep(time.Second)
		child := exec.Command("sleep", "300")
		child.Start()
		if work(60_000_000) == 42 {
			return
		}
		go os.Stdout.WriteString("done\n")
		child.Wait()
	}
}
"#;

#[test]
fn a_goroutine_that_nobody_runs_yet_is_not_asleep() {
    let Some(program) = go("held", HELD) else { return };
    waits_for_all_that_is_ready(&program);
}

/// A program that says a word a second after it woke, and waits five minutes then: quiet means that it has been said.
fn waits_for_all_that_is_ready(program: &Path) {
    on_one_thread(async {
        let _pinned = Pinned::new();
        let mut launch = launch(&[program.to_str().unwrap()]);
        launch.determinism.processors = Some(1);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        for round in 1..=4 {
            let second = quiet(&mut process, &server).await.deadline.unwrap();
            assert_eq!(second.as_secs_f64().round(), 1.0, "{program:?}");
            process.advance(second).unwrap();
            let minutes = quiet(&mut process, &server).await.deadline.unwrap();
            assert_eq!(lines.take(), round, "{program:?}: quiet means that all has been done");
            assert_eq!(minutes.as_secs_f64().round(), 300.0, "{program:?}");
            process.advance(minutes).unwrap();
        }
    });
}

/// Calls C code that waits, while something else is ready to run, on a runtime with one processor.
const HELD_BY_C: &str = r#"
package main

/*
#include <pthread.h>
#include <time.h>
static void wait(void) {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 300;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}
*/
import "C"
import (
	"os"
	"time"
)

func work(n int) (x int) {
	for i := 0; i < n; i++ {
		x += i * i
	}
	return
}

func main() {
	for {
		time.Sleep(time.Second)
		if work(60_000_000) == 42 {
			return
		}
		go os.Stdout.WriteString("done\n")
		C.wait()
	}
}
"#;

#[test]
fn a_wait_of_c_may_hold_the_processor_too() {
    let Some(dynamic) = go("held-by-c", HELD_BY_C) else { return };
    let Some(fixed) = static_go("held-by-c-static", HELD_BY_C) else { return };
    waits_for_all_that_is_ready(&dynamic);
    waits_for_all_that_is_ready(&fixed);
}

/// What `code` does is named with these words.
fn named(code: &str, words: &str) {
    let Some(python) = python() else { return };
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        assert_eq!(lines.next().await, "start");
        quiet(&mut process, &server).await;
        let spots = process.blind_spots();
        assert!(spots.iter().any(|spot| spot.contains(words)), "{words}: {spots:?}");
    });
}

#[test]
fn timers_that_no_call_shows_are_named() {
    let alarm = "import signal; signal.alarm(300); print('start', flush=True); signal.pause()";
    named(alarm, "alarm");
    let interval = "import signal; signal.setitimer(signal.ITIMER_REAL, 300); print('start', flush=True); signal.pause()";
    named(interval, "setitimer");
    let limit = "\
import socket, struct
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('2q', 300, 0))
print('start', flush=True)
a.recv(1)
";
    named(limit, "SO_RCVTIMEO");
}

/// Between its two ends bytes are on their way while everybody sleeps.
#[test]
fn terminals_of_its_own_are_named() {
    let code = "import os, time; pair = os.openpty(); print('start', flush=True); time.sleep(300)";
    named(code, "terminal");
}

#[test]
fn connections_through_the_file_system_are_named() {
    let path = folder("unix").join("service");
    let service = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let path = path.to_str().unwrap();
    let ask = "s = socket.socket(socket.AF_UNIX); s.connect";
    let code = format!("import socket; {ask}('{path}'); print('start', flush=True); s.recv(1)");
    named(&code, path);
    drop(service);
}

/// Nothing to be named: no timer but those that calls show, nobody else that it talks to.
#[test]
fn ordinary_programs_have_no_blind_spot() {
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&["sh", "-c", "sleep 1 & echo start; wait; id"])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        assert_eq!(lines.next().await, "start");
        quiet(&mut process, &server).await;
        assert!(process.blind_spots().is_empty(), "{:?}", process.blind_spots());
    });
}

/// A program for i386 that sleeps for five minutes.
fn sleeper_of_32_bits() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    const CODE: u32 = 52 + 32;
    let time = (BASE + CODE + 24).to_le_bytes();
    let mut code = vec![0xb8, 162, 0, 0, 0, 0xbb]; // eax = nanosleep; ebx = …
    code.extend(time);
    code.extend([0x31, 0xc9, 0xcd, 0x80]); // ecx = null; the call
    code.extend([0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80, 0x90]); // exit(0)
    code.extend([300u32.to_le_bytes(), [0; 4]].concat());
    let size = CODE + code.len() as u32;
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0".to_vec();
    let mut words = |words: &[u32]| file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    words(&[1, BASE + CODE, 52, 0, 0]); // version, entry, program headers, section headers, flags
    words(&[52 | 32 << 16, 1 | 40 << 16, 0]); // sizes and numbers of these headers
    words(&[1, 0, BASE, BASE, size, size, 5, 0x1000]); // all of it is loaded, readable and executable
    file.extend(code);
    file
}

/// Its calls have other numbers, which mean something else: no quiet is claimed while it lives, and it is named.
#[test]
fn programs_of_32_bits_are_named() {
    let program = folder("bits32").join("sleeper");
    std::fs::write(&program, sleeper_of_32_bits()).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    match std::process::Command::new(&program).spawn() {
        Err(error) => return println!("skipped: this kernel runs no 32-bit programs ({error})"),
        Ok(mut child) => {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    on_one_thread(async {
        let script = "echo start; sleep 1; \"$0\" & sleep 300; kill $!; wait; sleep 300";
        let command = ["sh", "-c", script, program.to_str().unwrap()];
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&command)).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        assert_eq!(lines.next().await, "start");
        let second = quiet(&mut process, &server).await.deadline.unwrap();
        process.advance(second).unwrap();
        let told = ask(&mut process, &server).await.unwrap_err().to_string();
        assert!(told.contains("is a 32-bit program"), "{told}");
        assert!(matches!(process.clock(), ClockAbility::FirstProgram(_)), "{:?}", process.clock());
    });
}
