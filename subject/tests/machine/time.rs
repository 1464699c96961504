//! The subject's clocks: right from the first instruction on, moved at will, and noticed by those
//! who wait.

use std::time::Duration;

use subject::{ClockAbility, Launch, Started};

use crate::{
    programs::{Lines, ask, go, launch, output_of, python, quiet},
    server::{Server, on_one_thread},
};

const DAY: i64 = 86_400 * 1_000_000_000;
const YEAR_SECONDS: i64 = 31_536_000;

/// The machine's own time in seconds: what a subject says must lie between two of these.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_secs() as i64
}

#[test]
fn the_wall_clock_is_the_worlds_from_the_first_instruction() {
    for offset in [0, -30 * DAY, 400 * DAY, 1_500_000_000] {
        // A shell that starts programs, and a program that is started directly.
        for command in [&["date", "+%s"][..], &["sh", "-c", "date +%s; exec date +%s"]] {
            let mut launch = launch(command);
            launch.clock = subject::Pace::Virtual { ahead: offset };
            let low = now() + offset.div_euclid(1_000_000_000);
            let said = output_of(&launch);
            let high = now() + offset.div_euclid(1_000_000_000) + 1;
            for line in said.lines() {
                let told: i64 = line.parse().unwrap();
                assert!((low..=high).contains(&told), "{low} {told} {high} with offset {offset}");
            }
        }
    }
}

#[test]
fn all_ways_to_read_the_wall_clock_agree() {
    let Some(python) = python() else { return };
    let code = "\
import time, ctypes, datetime
libc = ctypes.CDLL(None)
class T(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('f', ctypes.c_long)]
t = T()
a = time.time_ns()
libc.gettimeofday(ctypes.byref(t), None)
b = t.s * 10**9 + t.f * 1000
assert 0 <= t.f < 10**6
libc.time.restype = ctypes.c_long
c = libc.time(None)
slot = ctypes.c_long()
d = libc.time(ctypes.byref(slot))
e = time.time_ns()
assert a - 1000 <= b <= e, (a, b, e)
assert a // 10**9 <= c <= d == slot.value <= e // 10**9, (a, c, d, e)
assert time.strftime('%Y', time.gmtime()) == str(datetime.datetime.utcnow().year)
assert time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) < 100
assert time.monotonic() < 10**9 and time.clock_gettime(time.CLOCK_BOOTTIME) > 0
try: time.clock_gettime(77)
except OSError as error: print(error.errno)
print(time.gmtime().tm_year)
";
    let mut launch = launch(&[python.to_str().unwrap(), "-W", "ignore", "-c", code]);
    let years = 2040 - (1970 + now() / YEAR_SECONDS);
    launch.clock =
        subject::Pace::Virtual { ahead: years * YEAR_SECONDS * 1_000_000_000 + 123_456_789 };
    let said = output_of(&launch);
    let (error, year) = said.trim().split_once('\n').unwrap_or_else(|| panic!("{said}"));
    assert_eq!(error, "22"); // EINVAL, as the kernel says it
    assert!(["2039", "2040"].contains(&year), "{year}");
}

/// Starts a program that says `start`, waits for five minutes in some way, and says `end`; moves
/// its clock by five minutes as soon as it is quiet. (That a test passes at all shows that the wait
/// ended at once: it has nothing else to end it.)
pub fn five_minutes(command: &[&str]) {
    five_minutes_up_to(command, Duration::from_millis(2));
}

/// The same, with a deadline that may be so much too late.
fn five_minutes_up_to(command: &[&str], late: Duration) {
    five_minutes_of(&launch(command), late);
}

/// The same, for a program that is started in another way.
pub fn five_minutes_of(launch: &Launch, late: Duration) {
    let command = &launch.command;
    on_one_thread(async {
        let Started { mut process, listener, output, .. } = subject::start(launch).unwrap();
        assert_eq!(process.clock(), ClockAbility::Virtual);
        let server = Server::serve(listener);
        let mut lines = Lines::new(output);
        assert_eq!(lines.next().await, "start");
        let found = quiet(&mut process, &server).await;
        let deadline =
            found.deadline.unwrap_or_else(|| panic!("no timer seen in {command:?}: {found:?}"));
        let five = Duration::from_secs(300);
        assert!(deadline > five - Duration::from_secs(20), "{command:?}: {found:?}");
        assert!(deadline <= five + late, "{command:?}: {found:?}");
        assert_eq!(lines.rest(), "");
        process.advance(deadline).unwrap();
        assert_eq!(lines.next().await, "end", "{command:?}");
        process.kill();
    });
}

#[test]
fn a_jump_ends_sleeps_of_programs() {
    five_minutes(&["sh", "-c", "echo start; sleep 300; echo end"]);
}

#[test]
fn a_jump_ends_waits_of_python() {
    let Some(python) = python() else { return };
    let body = |wait: &str| {
        format!(
            "import time, threading, asyncio, select, queue, socket\n\
             begin = time.monotonic()\nprint('start', flush=True)\n{wait}\n\
             passed = time.monotonic() - begin\nassert 300 <= passed < 320, passed\nprint('end', flush=True)"
        )
    };
    for wait in [
        "time.sleep(300)",
        "threading.Event().wait(300)",
        "asyncio.run(asyncio.sleep(300))",
        "select.select([socket.socket()], [], [], 300)",
        "a, b = socket.socketpair(); select.select([a], [], [], 300)",
        "a, b = socket.socketpair(); p = select.poll(); p.register(a, select.POLLIN); p.poll(300_000)",
        "threading.Thread(target=time.sleep, args=(300,)).run()",
        "t = threading.Thread(target=time.sleep, args=(300,)); t.start(); t.join()",
        "import subprocess; subprocess.run(['sleep', '300'])",
    ] {
        let code = body(wait);
        // The first waits on a socket that is not connected: readable at once, so no wait at all.
        if wait.contains("[socket.socket()]") {
            continue;
        }
        five_minutes(&[python.to_str().unwrap(), "-c", &code]);
    }
}

#[test]
fn a_jump_ends_timer_files() {
    let Some(python) = python() else { return };
    for absolute in [0, 1] {
        let code = format!(
            "import ctypes, os, time, struct\n\
             c = ctypes.CDLL(None, use_errno=True)\n\
             fd = c.timerfd_create(1, 0)\n\
             begin = time.monotonic_ns()\n\
             end = begin * {absolute} + 300 * 10**9\n\
             assert c.timerfd_settime(fd, {absolute}, struct.pack('4q', 0, 0, end // 10**9, end % 10**9), None) == 0\n\
             print('start', flush=True)\nos.read(fd, 8)\n\
             assert time.monotonic_ns() - begin >= 300 * 10**9\nprint('end', flush=True)"
        );
        // One set to a duration is late by what passed on the machine until the subject was first seen.
        five_minutes_up_to(&[python.to_str().unwrap(), "-c", &code], Duration::from_secs(20));
    }
}

#[test]
fn a_jump_ends_waits_of_node() {
    let code = "console.log('start'); const begin = performance.now(); setTimeout(() => { \
        if (performance.now() - begin < 299999) throw 'early'; console.log('end') }, 300000)";
    if found("node") {
        five_minutes(&["node", "-e", code]);
    }
}

#[test]
fn a_jump_ends_waits_of_java() {
    if !found("java") {
        return;
    }
    for wait in [
        "Thread.sleep(300000);",
        "new Object().wait(300000);",
        "Thread.currentThread().join(300000);",
        // A name that begins as one of the virtual machine's own.
        "Thread t = new Thread(() -> { try { Thread.sleep(300000); } catch (Exception e) {} }, \"GC Thread of mine\"); \
         t.start(); t.join();",
        // The very name of one, which the kernel cuts.
        "Thread t = new Thread(() -> { try { Thread.sleep(300000); } catch (Exception e) {} }, \"Common-Cleaner\"); \
         t.start(); t.join();",
        "Thread t = new Thread(() -> { try { Thread.sleep(300000); } catch (Exception e) {} }, \"Notification Thread-1\"); \
         t.start(); t.join();",
    ] {
        let wait =
            wait.replace("new Object().wait", "Object o = new Object(); synchronized (o) { o.wait");
        let close = if wait.contains("synchronized") { "}" } else { "" };
        let source = format!(
            "class Waits {{ public static void main(String[] a) throws Exception {{ \
             System.out.println(\"start\"); long b = System.nanoTime(); {wait} {close} \
             if (System.nanoTime() - b < 299999000000L) throw new Error(); System.out.println(\"end\"); }} }}"
        );
        let folder = crate::programs::folder("java");
        let file = folder.join("Waits.java");
        std::fs::write(&file, source).unwrap();
        // Two Java programs that are both the first process of their namespace would share a file in /tmp, and one says so.
        five_minutes(&["java", "-XX:-UsePerfData", file.to_str().unwrap()]);
    }
}

/// Whether the machine has this program; says so if not.
fn found(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output().is_ok();
    if !found {
        crate::programs::skip(&format!("there is no {program} on this machine"));
    }
    found
}

/// Version managers put shell scripts, which exec the real thing, in place of programs.
#[test]
fn programs_behind_scripts_are_moved_too() {
    let Some(python) = python() else { return };
    let folder = crate::programs::folder("shim");
    let shim = folder.join("shim");
    let text = format!(
        "#!/bin/sh\nfor f in 1 2 3; do /no/such/$f 2>/dev/null; sh -c true; done\nexec env A=b {} \"$@\"\n",
        python.display()
    );
    std::fs::write(&shim, text).unwrap();
    std::fs::set_permissions(&shim, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let code = "import time; print('start', flush=True); time.sleep(300); print('end')";
    for _ in 0..20 {
        five_minutes(&[shim.to_str().unwrap(), "-c", code]);
    }
}

const GO_EXECS: &str = r#"package main
import ("os"; "os/exec"; "runtime"; "syscall")
func main() {
	for range 5 {
		command := exec.Command("date", "+%s")
		command.Stdout = os.Stdout
		if err := command.Run(); err != nil { panic(err) }
	}
	path, _ := exec.LookPath("date")
	runtime.LockOSThread() // the main thread is kept, so that the other goroutine gets another one
	go func() { panic(syscall.Exec(path, []string{"date", "+%s"}, os.Environ())) }()
	select {}
}
"#;

/// Children made by vfork, and an exec by a thread that is not the first of its process.
#[test]
fn programs_that_go_starts_are_moved_too() {
    let Some(program) = go("execs", GO_EXECS) else { return };
    let mut launch = launch(&[program.to_str().unwrap()]);
    launch.clock = subject::Pace::Virtual { ahead: 400 * DAY };
    let low = now() + 400 * DAY / 1_000_000_000;
    let said = output_of(&launch);
    let high = now() + 400 * DAY / 1_000_000_000;
    let told: Vec<i64> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(told.len(), 6, "{said}");
    assert!(told.iter().all(|told| (low..=high).contains(told)), "{low} {told:?} {high}");
}

const GO_SLEEPER: &str = r#"package main
import ("fmt"; "os"; "time")
func main() {
	begin := time.Now()
	fmt.Println("start")
	switch os.Args[1] {
	case "sleep": time.Sleep(300 * time.Second)
	case "ticker": <-time.NewTicker(300 * time.Second).C
	case "two":
		go func() { time.Sleep(7 * time.Hour) }()
		<-time.After(300 * time.Second)
	}
	if passed := time.Since(begin); passed < 300*time.Second || passed > 320*time.Second { panic(passed) }
	fmt.Println("end")
}
"#;

#[test]
fn a_jump_ends_waits_of_go() {
    let Some(program) = go("sleeper", GO_SLEEPER) else { return };
    for way in ["sleep", "ticker", "two"] {
        five_minutes(&[program.to_str().unwrap(), way]);
    }
}

#[test]
fn monotonic_time_never_goes_back_and_follows_each_jump() {
    let Some(python) = python() else { return };
    let code = "\
import time
last = time.monotonic()
for n in range(20):
    before = time.time()
    time.sleep(100)
    now = time.monotonic()
    assert now >= last + 100, (last, now)
    assert now < last + 110, (last, now)
    assert 100 <= time.time() - before < 110
    last = now
print('end', flush=True)
";
    on_one_thread(async {
        let mut launch = launch(&[python.to_str().unwrap(), "-c", code]);
        launch.clock = subject::Pace::Virtual { ahead: -1000 * DAY };
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let server = Server::serve(listener);
        for _ in 0..20 {
            let found = quiet(&mut process, &server).await;
            process.advance(found.deadline.unwrap()).unwrap();
        }
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

/// A restart is no reboot: what one start of a program has noted of any clock lies behind the next one.
#[test]
fn no_clock_goes_back_when_a_program_is_started_again() {
    let Some(python) = python() else { return };
    let code = "\
import time
time.sleep(3600)
print(*(time.clock_gettime_ns(clock) for clock in (0, 1, 4, 7, 11)), flush=True)
time.sleep(3600)
";
    let mut launch = launch(&[python.to_str().unwrap(), "-c", code]);
    on_one_thread(async {
        let mut told: Vec<Vec<i64>> = Vec::new();
        for _ in 0..2 {
            let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
            let (server, mut lines) = (Server::serve(listener), Lines::new(output));
            let found = quiet(&mut process, &server).await;
            process.advance(found.deadline.unwrap()).unwrap();
            let line = lines.next().await;
            told.push(line.split(' ').map(|time| time.parse().unwrap()).collect());
            let shown = process.reader().wall().unwrap();
            let machine = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64;
            launch.clock = subject::Pace::Virtual { ahead: shown - machine };
        }
        let hour = 3600 * 1_000_000_000;
        for (before, after) in told[0].iter().zip(&told[1]) {
            assert!((hour..hour + hour / 60).contains(&(after - before)), "{told:?}");
        }
    });
}

#[test]
fn after_a_freeze_the_deadline_is_still_known() {
    on_one_thread(async {
        let command = ["sh", "-c", "sleep 300; echo end"];
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&command)).unwrap();
        let server = Server::serve(listener);
        let before = quiet(&mut process, &server).await.deadline.unwrap();
        process.freeze().unwrap();
        process.thaw().unwrap();
        let after = quiet(&mut process, &server).await.deadline.unwrap();
        assert!(after <= before, "{before:?} {after:?}");
        process.advance(after).unwrap();
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

#[test]
fn without_an_offset_time_is_real() {
    let mut launch = launch(&["sleep", "300"]);
    launch.clock = subject::Pace::Untouched;
    let Started { mut process, .. } = subject::start(&launch).unwrap();
    assert!(matches!(process.clock(), ClockAbility::Real(_)));
    assert!(process.advance(Duration::from_secs(1)).is_err());
}

/// At the machine's pace: another date, the same steady time; waits end by themselves, and those until a date too.
#[test]
fn at_the_machines_pace_only_the_date_is_another() {
    let Some(python) = python() else { return };
    let code = "\
import ctypes, time
up = float(open('/proc/uptime').read().split()[0])
assert abs(time.clock_gettime(time.CLOCK_BOOTTIME) - up) < 5, up
print(int(time.time()), flush=True)
begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
time.sleep(0.01)
assert time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - begin >= 10**7
until = time.time_ns() + 10**7
libc = ctypes.CDLL(None)
libc.clock_nanosleep(0, 1, (ctypes.c_long * 2)(until // 10**9, until % 10**9), None)
assert time.time_ns() >= until
print('end', flush=True)
time.sleep(1000)
";
    on_one_thread(async {
        let mut launch = launch(&[python.to_str().unwrap(), "-c", code]);
        launch.clock = subject::Pace::Real { ahead: 400 * DAY };
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        let said: i64 = lines.next().await.parse().unwrap();
        let passed = now() + 400 * DAY / 1_000_000_000 - said;
        assert!((0..60).contains(&passed), "{passed}");
        // Nothing passes by itself as long as nobody looks for what is due.
        while lines.rest().is_empty() {
            let looked = ask(&mut process, &server).await;
            lines.take();
            looked.unwrap_or_else(|ended| panic!("{ended}: {}", lines.rest()));
        }
        assert_eq!(lines.next().await, "end");
        assert!(process.advance(Duration::from_secs(1)).is_err());
    });
}

/// A timer file whose moment has passed on the subject's clock, which is far ahead of the kernel's, or passes there in
/// real time: it is made to expire.
#[test]
fn timer_files_that_are_due_expire() {
    let Some(python) = python() else { return };
    let code = |clock: u8, ahead: i64| {
        format!(
            "\
import ctypes, os, struct, time
c = ctypes.CDLL(None)
fd = c.timerfd_create({clock}, 0)
at = time.clock_gettime_ns({clock}) + {ahead}
assert c.timerfd_settime(fd, 1, struct.pack('4q', 0, 0, at // 10**9, at % 10**9), None) == 0
os.read(fd, 8)
print('end', flush=True)
time.sleep(1000)
"
        )
    };
    let natural = subject::Pace::Real { ahead: 400 * DAY };
    let standing = subject::Pace::Virtual { ahead: 0 };
    for (pace, clock, ahead) in [(standing, 1, -1), (standing, 0, -1), (natural, 0, 10_000_000)] {
        on_one_thread(async {
            let mut launch = launch(&[python.to_str().unwrap(), "-c", &code(clock, ahead)]);
            launch.clock = pace;
            let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
            let (server, mut lines) = (Server::serve(listener), Lines::new(output));
            while lines.rest().is_empty() {
                quiet(&mut process, &server).await;
                lines.take();
            }
            assert_eq!(lines.next().await, "end", "{pace:?} {clock}");
        });
    }
}
