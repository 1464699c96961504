//! Quiet is reported when, and only when, nothing can happen any more without input.

use subject::{Isolation, Look, NotQuiet, Patience, Process, Started, Watched, Why};
use trace::Flight;

use crate::{
    programs::{Lines, ask, go, launch, python, quiet},
    server::{Server, on_one_thread},
};

const GO_WATCHER: &str = r#"package main
import ("bufio"; "crypto/sha256"; "fmt"; "net/http")
func main() {
	answer, err := http.Get("http://127.0.0.1:18080/watch")
	if err != nil { panic(err) }
	lines := bufio.NewScanner(answer.Body)
	work := make(chan string, 10)
	go func() {
		for line := range work {
			sum := []byte(line)
			for range 200 { next := sha256.Sum256(sum); sum = next[:] }
			answer, err := http.Get("http://127.0.0.1:18080/echo/" + line)
			if err != nil { panic(err) }
			answer.Body.Close()
			fmt.Println(line)
		}
	}()
	for lines.Scan() { work <- lines.Text() }
}
"#;

const PYTHON_WATCHER: &str = "\
import http.client, threading, queue
work = queue.Queue()
def run():
    while True:
        line = work.get()
        c = http.client.HTTPConnection('127.0.0.1', 18080)
        c.request('GET', '/echo/' + line); c.getresponse().read(); c.close()
        print(line, flush=True)
threading.Thread(target=run, daemon=True).start()
c = http.client.HTTPConnection('127.0.0.1', 18080)
c.request('GET', '/watch')
r = c.getresponse()
while True: work.put(r.readline().decode().strip())
";

/// Pushes events one by one: whenever quiet is reported, the event must have been handled to the
/// end: the controller has written its line, and its request was served.
fn never_too_early(command: &[&str], events: usize) {
    on_one_thread(async {
        let mut started = subject::start(&launch(command)).unwrap();
        let server = Server::serve(started.listener);
        let mut lines = Lines::new(started.output);
        server.requested("/watch").await;
        for event in 0..events {
            // There may be a deadline: Go leaves the time-out of a finished dial in its `epoll`.
            let found = quiet(&mut started.process, &server).await;
            assert_eq!(lines.take(), event, "lines before event {event}: {found:?}");
            assert_eq!(server.paths().len(), 1 + event, "{found:?}");
            server.push(&format!("event-{event}"));
        }
        quiet(&mut started.process, &server).await;
        assert_eq!(lines.take(), events);
    });
}

#[test]
fn quiet_is_never_reported_too_early_in_go() {
    let Some(program) = go("watcher", GO_WATCHER) else { return };
    never_too_early(&[program.to_str().unwrap()], 300);
}

#[test]
fn quiet_is_never_reported_too_early_in_python() {
    let Some(python) = python() else { return };
    never_too_early(&[python.to_str().unwrap(), "-c", PYTHON_WATCHER], 300);
}

#[test]
fn a_busy_loop_is_never_quiet() {
    on_one_thread(async {
        for code in ["echo on; while :; do :; done", "(while :; do :; done) & echo on; sleep 1000"]
        {
            let mut started = subject::start(&launch(&["sh", "-c", code])).unwrap();
            let server = Server::serve(started.listener);
            assert_eq!(Lines::new(started.output).next().await, "on");
            for _ in 0..2000 {
                let look = started.process.look(&server.flight());
                assert!(matches!(look, Look::Busy(_)), "{code}: {look:?}");
            }
        }
    });
}

/// A look at a process that rests already. Processor time of its last thread is booked only when that has left the
/// processor, so that a look just behind may still see work.
fn look_at_rest(process: &mut Process, flight: &Flight) -> Look {
    loop {
        let look = process.look(flight);
        if !matches!(look, Look::Busy(Why::Works { .. })) {
            return look;
        }
    }
}

#[test]
fn unanswered_and_undelivered_is_not_quiet() {
    let Some(python) = python() else { return };
    let code = "\
import http.client
c = http.client.HTTPConnection('127.0.0.1', 18080)
c.request('GET', '/hold'); print(c.getresponse().read(), flush=True)
c.sock.recv(1)
";
    on_one_thread(async {
        let mut started = subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        let server = Server::serve(started.listener);
        server.requested("/hold").await;
        let look = started.process.look(&server.flight());
        assert_eq!(look, Look::Busy(Why::Call("GET /hold".into())));
        let Look::Busy(why) = look else { unreachable!() };
        assert_eq!(why.to_string(), "request GET /hold has no complete answer");
        server.release();
        let found = quiet(&mut started.process, &server).await;
        assert_eq!((found.deadline, found.timers), (None, vec![vec![]]));
        let mut flight = server.flight();
        flight.undelivered = 2;
        assert_eq!(look_at_rest(&mut started.process, &flight), Look::Busy(Why::Undelivered(2)));
        // Bytes that we claim to have sent, and bytes that we have not read.
        let mut flight = server.flight();
        flight.connections[0].sent_bytes += 5;
        let client = flight.connections[0].peer;
        assert_eq!(
            look_at_rest(&mut started.process, &flight),
            Look::Busy(Why::Sent { client, bytes: 5 })
        );
        let mut flight = server.flight();
        flight.connections[0].received_bytes -= 3;
        assert_eq!(
            look_at_rest(&mut started.process, &flight),
            Look::Busy(Why::Written { client, bytes: 3 })
        );
    });
}

/// Each in a namespace of its own, with a connection of the same two ports, over which not as much went.
#[test]
fn two_at_once_have_each_their_own_connections() {
    let Some(python) = python() else { return };
    let code = |paths: &str, seconds: u32| {
        format!(
            "\
import http.client, time
c = http.client.HTTPConnection('127.0.0.1', 18080, source_address=('127.0.0.1', 40404))
for path in {paths}: c.request('GET', path); c.getresponse().read()
time.sleep({seconds})
"
        )
    };
    on_one_thread(async {
        let start = |code: String| {
            let started = subject::start(&launch(&[python.to_str().unwrap(), "-c", &code]));
            let Started { process, listener, output, .. } = started.unwrap();
            (process, Server::serve(listener), output)
        };
        let (mut one, of_one, _output) = start(code("['/echo/a']", 30));
        let (mut two, of_two, _output) = start(code("['/echo/long', '/echo/longer']", 20));
        let watched = &mut [
            Watched::new(&mut one, || of_one.flight()),
            Watched::new(&mut two, || of_two.flight()),
        ];
        let mut found = subject::quiet(watched).await.unwrap();
        while of_one.paths().is_empty() || of_two.paths().len() < 2 {
            found = subject::quiet(watched).await.unwrap();
        }
        let next = |timers: &[subject::Timer]| timers[0].remaining.as_secs_f64().round();
        assert_eq!(found.timers.iter().map(|of| next(of)).collect::<Vec<_>>(), [30.0, 20.0]);
        assert_eq!(found.deadline, Some(found.timers[1][0].remaining));
    });
}

#[test]
fn a_connection_that_nobody_accepted_is_not_quiet() {
    let Some(python) = python() else { return };
    let code = "import socket; s = socket.create_connection(('127.0.0.1', 18080)); print('on', flush=True); s.recv(1)";
    on_one_thread(async {
        let mut started = subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        assert_eq!(Lines::new(started.output).next().await, "on");
        for _ in 0..200 {
            let look = started.process.look(&trace::Flight::default());
            assert!(matches!(look, Look::Busy(_)), "{look:?}");
        }
        let server = Server::serve(started.listener);
        quiet(&mut started.process, &server).await;
        assert_eq!(server.flight().connections.len(), 1);
    });
}

#[test]
fn a_subject_that_somebody_else_stopped_is_not_quiet() {
    on_one_thread(async {
        let mut launch = launch(&["sh", "-c", "echo on; kill -STOP $$; echo never"]);
        // As first process of a namespace a shell can't stop itself.
        launch.isolation = subject::Isolation::None;
        let mut started = subject::start(&launch).unwrap();
        let server = Server::serve(started.listener);
        assert_eq!(Lines::new(started.output).next().await, "on");
        for _ in 0..2000 {
            let look = started.process.look(&server.flight());
            assert!(matches!(look, Look::Busy(_)), "{look:?}");
        }
    });
}

#[test]
fn bytes_that_nobody_wants_do_not_hide_the_timer() {
    let Some(python) = python() else { return };
    let code = "\
import http.client, time
c = http.client.HTTPConnection('127.0.0.1', 18080)
c.request('GET', '/watch'); r = c.getresponse()
print('on', flush=True)
time.sleep(300)
print(r.readline().decode().strip(), flush=True)
";
    on_one_thread(async {
        let mut started = subject::start(&launch(&[python.to_str().unwrap(), "-c", code])).unwrap();
        let server = Server::serve(started.listener);
        let mut lines = Lines::new(started.output);
        assert_eq!(lines.next().await, "on");
        server.push("event");
        let found = quiet(&mut started.process, &server).await;
        started.process.advance(found.deadline.unwrap()).unwrap();
        assert_eq!(lines.next().await, "event");
    });
}

#[test]
fn the_end_of_a_subject_ends_the_wait() {
    on_one_thread(async {
        let mut started = subject::start(&launch(&["sh", "-c", "exit 3"])).unwrap();
        let server = Server::serve(started.listener);
        let ended = ask(&mut started.process, &server).await;
        match ended {
            Err(NotQuiet::Ended { process: 0, exit }) => {
                assert_eq!(exit.to_string(), "exit code 3")
            }
            other => panic!("{other:?}"),
        }
    });
}

/// Waits for quiet where none comes.
async fn in_vain(code: &str, patience: Patience) -> NotQuiet {
    let mut launch = launch(&["sh", "-c", code]);
    // As first process of a namespace a shell can't stop itself.
    launch.isolation = subject::Isolation::None;
    let mut started = subject::start(&launch).unwrap();
    let server = Server::serve(started.listener);
    assert_eq!(Lines::new(started.output).next().await, "on");
    let watched = &mut [Watched::new(&mut started.process, || server.flight())];
    subject::quiet_within(watched, patience).await.unwrap_err()
}

#[test]
fn who_works_without_end_is_a_loop() {
    let work = std::time::Duration::from_millis(50);
    let patience = Patience { work, ..Patience::default() };
    on_one_thread(async {
        match in_vain("echo on; while :; do :; done", patience).await {
            NotQuiet::Working(used, _) => assert!(used > work),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn who_is_not_asleep_and_does_nothing_stands_still() {
    let patience = Patience { idle_looks: 500, ..Patience::default() };
    on_one_thread(async {
        match in_vain("echo on; kill -STOP $$; sleep 1000", patience).await {
            NotQuiet::Standstill(Why::Runs { state: 'T', .. }) => {}
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn two_subjects_are_quiet_together() {
    on_one_thread(async {
        let mut launch = launch(&["sh", "-c", "echo on; sleep 400; sleep 5000"]);
        let mut first = subject::start(&launch).unwrap();
        launch.command = ["sh", "-c", "sleep 300; sleep 1000"].map(String::from).to_vec();
        let mut second = subject::start(&launch).unwrap();
        let (one, two) = (Server::serve(first.listener), Server::serve(second.listener));
        assert_eq!(Lines::new(first.output).next().await, "on");
        let mut fired = Vec::new();
        for _ in 0..3 {
            let mut both = [
                Watched::new(&mut first.process, || one.flight()),
                Watched::new(&mut second.process, || two.flight()),
            ];
            let found = subject::quiet(&mut both).await.unwrap();
            drop(both);
            let jump = found.deadline.unwrap();
            fired.push(jump.as_secs_f64().round() as u64);
            first.process.advance(jump).unwrap();
            second.process.advance(jump).unwrap();
        }
        assert_eq!(fired, [300, 100, 900]);
    });
}

#[test]
fn without_namespaces_all_but_the_network_is_as_good() {
    on_one_thread(async {
        let mut launch = launch(&["sh", "-c", "sleep 300; echo end"]);
        launch.isolation = Isolation::None;
        let Started { mut process, listener, output, .. } = subject::start(&launch).unwrap();
        let server = Server::serve(listener);
        let found = quiet(&mut process, &server).await;
        process.advance(found.deadline.unwrap()).unwrap();
        assert_eq!(Lines::new(output).next().await, "end");
    });
}

#[test]
fn a_connection_to_something_else_makes_quiet_unknowable() {
    let Some(python) = python() else { return };
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let code = format!(
        "import socket; s = socket.create_connection(('127.0.0.1', {})); print('on', flush=True); s.recv(1)",
        outside.local_addr().unwrap().port()
    );
    on_one_thread(async {
        let mut launch = launch(&[python.to_str().unwrap(), "-c", &code]);
        launch.isolation = Isolation::None;
        let mut started = subject::start(&launch).unwrap();
        let server = Server::serve(started.listener);
        assert_eq!(Lines::new(started.output).next().await, "on");
        let found = ask(&mut started.process, &server).await;
        match found {
            Err(NotQuiet::Unknown(Why::Foreign { to, .. })) => {
                assert_eq!(to, outside.local_addr().unwrap());
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_subject_that_talks_to_itself_can_be_quiet() {
    let Some(python) = python() else { return };
    let code = "\
import socket
l = socket.create_server(('127.0.0.1', 0))
a = socket.create_connection(l.getsockname()); b, _ = l.accept()
a.sendall(b'x' * 1000); b.recv(1000); print('on', flush=True); a.recv(1)
";
    for isolation in [Isolation::Namespaces, Isolation::None] {
        on_one_thread(async {
            let mut launch = launch(&[python.to_str().unwrap(), "-c", code]);
            launch.isolation = isolation;
            let mut started = subject::start(&launch).unwrap();
            let server = Server::serve(started.listener);
            assert_eq!(Lines::new(started.output).next().await, "on");
            assert_eq!(quiet(&mut started.process, &server).await.deadline, None);
        });
    }
}
