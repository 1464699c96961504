//! Programs that are not made for being watched: static ones, ones with filters of their own, ones that die at bad
//! moments; and watchers without rights.

use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use subject::{ClockAbility, Look, Started, Why};

use crate::{
    programs::{Lines, ask, folder, launch, python, quiet},
    server::{Server, on_one_thread},
    time::{five_minutes, five_minutes_of},
};

const SLEEPER: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
static void *thread(void *words) { execv("/proc/self/exe", words); return 0; }
static void *slow(void *none) { struct timespec wait = {300, 0};
  printf("start\n"); fflush(stdout); nanosleep(&wait, 0); printf("end\n"); fflush(stdout); pause(); return none; }
static void *file(void *none) { struct itimerspec wait = {{0, 0}, {300, 0}}; uint64_t times;
  int timer = timerfd_create(CLOCK_MONOTONIC, 0); timerfd_settime(timer, 0, &wait, 0);
  printf("start\n"); fflush(stdout); read(timer, &times, 8); printf("end\n"); fflush(stdout); pause(); return none; }
int main(int count, char **words) {
  struct timespec begin, end, wait = {300, 0};
  struct timeval limit = {300, 0}; fd_set set; int pipes[2]; pthread_t other;
  if (words[1][0] == 'x') {
    char *again[] = {words[0], "0", 0};
    nanosleep(&(struct timespec){0, 1000}, 0);
    pthread_create(&other, 0, thread, again); pause();
  }
  if (words[1][0] == 't') { pthread_create(&other, 0, file, 0); pthread_exit(0); }
  if (words[1][0] == 'z') { pthread_create(&other, 0, slow, 0); pthread_exit(0); }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  printf("start\n"); fflush(stdout);
  switch (atoi(words[1])) {
    case 0: nanosleep(&wait, 0); break;
    case 1: wait = begin; wait.tv_sec += 300; clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wait, 0); break;
    case 2: poll(0, 0, 300000); break;
    case 3: clock_gettime(CLOCK_REALTIME, &wait); wait.tv_sec += 300;
            clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &wait, 0); break;
    case 4: if (pipe(pipes)) return 1;
            FD_ZERO(&set); FD_SET(pipes[0], &set);
            if (select(pipes[0] + 1, &set, 0, 0, &limit) || FD_ISSET(pipes[0], &set)) return 1;
            break;
    case 5: { unsigned long context = 0; char event[64];
            if (syscall(SYS_io_setup, 8, &context)) return 1;
            if (syscall(SYS_io_getevents, context, 1, 1, event, &wait)) return 1;
            break; }
    case 6: { uint32_t word = 0; wait = begin; wait.tv_sec += 300;
            // futex_wait of Linux 6.7
            if (syscall(455, &word, 0, ~0u, 2 | 128, &wait, CLOCK_MONOTONIC) && errno == ENOSYS) nanosleep(&(struct timespec){300, 0}, 0);
            break; }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  long passed = end.tv_sec - begin.tv_sec;
  printf(passed >= 299 && passed < 320 ? "end\n" : "passed %ld\n", passed); fflush(stdout);
  return 0;
}
"#;

/// Compiles a C program; `None`, with a word about it, without this compiler.
fn compiled(compiler: &str, options: &[&str]) -> Option<PathBuf> {
    let folder = folder(compiler);
    let (source, program) = (folder.join("sleeper.c"), folder.join("sleeper"));
    std::fs::write(&source, SLEEPER).unwrap();
    let mut build = Command::new(compiler);
    match build.args(options).arg("-o").arg(&program).arg(&source).status() {
        Err(error) => {
            crate::programs::skip(&format!("there is no {compiler} on this machine ({error})"));
            None
        }
        Ok(status) => {
            assert!(status.success(), "{compiler}");
            Some(program)
        }
    }
}

/// No dynamic linker, and two C libraries, one of which looks for the vDSO by itself.
#[test]
fn static_programs_live_in_virtual_time() {
    for compiler in ["cc", "musl-gcc"] {
        let Some(program) = compiled(compiler, &["-static"]) else { continue };
        // The last one: its first thread ends, another goes on.
        for way in ["0", "1", "2", "3", "4", "5", "6", "z"] {
            five_minutes(&[program.to_str().unwrap(), way]);
        }
        // The same with a timer file, which may be late by as much as there was to do.
        five_minutes_of(&launch(&[program.to_str().unwrap(), "t"]), Duration::from_secs(1));
    }
}

/// One that becomes another program, where nothing but its memory tells one from the other.
#[test]
fn a_program_at_the_same_addresses_is_another_one() {
    let Some(program) = compiled("cc", &["-static"]) else { return };
    let mut launch = launch(&[program.to_str().unwrap(), "x"]);
    launch.determinism.fixed_addresses = true;
    five_minutes_of(&launch, Duration::from_millis(2));
}

/// A child that nobody waits for: it ends, stays in the table of processes, and nothing more comes of it.
#[test]
fn a_zombie_is_no_reason_to_wait() {
    let Some(python) = python() else { return };
    let code = "\
import subprocess, time
child = subprocess.Popen(['sleep', '5'])
time.sleep(300)
print('end', flush=True)
";
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        for seconds in [5.0, 295.0] {
            let found = quiet(&mut process, &server).await;
            let deadline = found.deadline.unwrap();
            assert!((deadline.as_secs_f64() - seconds).abs() < 1.0, "{seconds}: {found:?}");
            process.advance(deadline).unwrap();
        }
        assert_eq!(lines.next().await, "end");
    });
}

/// One that forbids itself system calls, as sandboxed programs do: its filter comes on top of ours.
#[test]
fn a_filter_of_its_own_changes_nothing() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 62), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]
program = b''.join(struct.pack('HBBI', *one) for one in code)
buffer = ctypes.create_string_buffer(program)
filter = struct.pack('HxxxxxxP', len(code), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.syscall(317, 1, 0, filter) == 0, ctypes.get_errno()
assert libc.kill(0, 0) == -1 and ctypes.get_errno() == 1
begin = time.monotonic()
slot = (ctypes.c_long * 2)()
assert libc.syscall(228, 1, slot) == 0 and abs(slot[0] - begin) < 10
print('start', flush=True)
time.sleep(300)
assert 300 <= time.monotonic() - begin < 320
print('end', flush=True)
";
    five_minutes(&[python.to_str().unwrap(), "-c", code]);
}

/// A timer inside an `io_uring` can't be seen: no quiet is claimed, and it is named.
#[test]
fn who_waits_in_an_io_uring_is_named() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))
print('ring' if ring >= 0 else 'none', flush=True)
if ring >= 0: libc.syscall(426, ring, 0, 1, 1, None, 0)
";
    on_one_thread(async {
        let launch = launch(&[python.to_str().unwrap(), "-c", code]);
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let server = Server::serve(listener);
        if Lines::new(output).next().await == "none" {
            return println!("skipped: this machine has no io_uring");
        }
        let asked = ask(&mut process, &server).await;
        let told = asked.unwrap_err().to_string();
        assert!(told.contains("until a time that the kernel does not show"), "{told}");
        let look = process.look(&server.flight());
        let Look::Unknown(why @ Why::NoDeadline { .. }) = look else { panic!("{look:?}") };
        assert!(why.explained().contains("in the kernel it waits at "), "{}", why.explained());
    });
}

/// Hundreds of programs killed while they start: before, in and after the moment at which their clock is set. The rest
/// of the tree goes on in virtual time.
#[test]
fn death_while_a_clock_is_set_is_no_failure() {
    let script = "i=0; while [ $i -lt 300 ]; do sleep 1000 & kill -9 $!; i=$((i+1)); done; wait
        echo start; sleep 300; echo end";
    five_minutes(&["sh", "-c", script]);
}

/// The whole tree is gone when its time is moved: nothing to be done, and the end is told by the next look.
#[test]
fn moving_the_time_of_the_dead_is_no_failure() {
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&["sh", "-c", "sleep 500 & echo start; wait"])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        assert_eq!(lines.next().await, "start");
        let found = quiet(&mut process, &server).await;
        let number = process.pid().to_string();
        assert!(Command::new("kill").args(["-9", &number]).status().unwrap().success());
        process.advance(found.deadline.unwrap()).unwrap();
        let asked = ask(&mut process, &server).await;
        assert!(asked.unwrap_err().to_string().contains("killed by signal 9"));
        assert_eq!(process.clock(), ClockAbility::Virtual);
    });
}

/// A user without rights: where user namespaces are allowed, all is as with root.
#[test]
fn no_root_is_needed() {
    const NOBODY: u32 = 65_534;
    if Command::new("true").uid(NOBODY).gid(NOBODY).status().is_err() {
        return println!("skipped: all other tests run without root already");
    }
    // Somewhere that everybody may read.
    let place = std::env::temp_dir().join(format!("trommel-no-root-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
    let program = place.join("machine");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let run = |test: &str| -> (bool, String) {
        let mut command = Command::new(&program);
        command.args(["--exact", test, "--nocapture"]).current_dir("/").env("HOME", "/");
        let ended = command.uid(NOBODY).gid(NOBODY).output().unwrap();
        let text = [ended.stdout, ended.stderr].concat();
        (ended.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let tests = ["time::a_jump_ends_sleeps_of_programs", "life::kill_leaves_nothing"];
    let ended: Vec<_> = tests.iter().map(|test| run(test)).collect();
    remove(&place);
    for (test, (passed, text)) in tests.iter().zip(ended) {
        let unavailable = text.contains("allow user namespaces");
        match unavailable && !passed {
            true => println!("skipped: users without rights may make no namespaces here"),
            false => assert!(passed && text.contains("1 passed"), "{test} without root:\n{text}"),
        }
    }
}

fn remove(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
}
