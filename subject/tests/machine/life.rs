//! Start, isolation, end.

use std::{collections::BTreeSet, fs, net::TcpStream, path::Path};

use subject::{Exit, Isolation, Launch, Started};

use crate::{
    programs::{Lines, launch, output_of, python, read_all},
    server::{Server, on_one_thread},
};

#[test]
fn output_environment_and_folder_are_as_given() {
    let mut launch = launch(&[
        "sh",
        "-c",
        "echo $GREETING; pwd; readlink /proc/self/fd/0; echo to the error stream >&2",
    ]);
    launch.env.push(("GREETING".into(), "good morning".into()));
    launch.dir = "/usr".into();
    assert_eq!(output_of(&launch), "good morning\n/usr\n/dev/null\nto the error stream\n");
}

#[test]
fn the_end_is_reported() {
    for isolation in [Isolation::Namespaces, Isolation::None] {
        for (command, expect) in [("exit 7", Exit::Code(7)), ("exit 0", Exit::Code(0))] {
            let mut launch = launch(&["sh", "-c", command]);
            launch.isolation = isolation;
            let Started { mut process, output, .. } = subject::start(&launch).unwrap();
            read_all(output);
            process.kill(); // too late: it has ended by itself
            assert_eq!(process.exited(), Some(expect), "{command}");
        }
    }
    let Started { mut process, .. } = subject::start(&launch(&["sleep", "1000"])).unwrap();
    assert_eq!(process.exited(), None);
    process.kill();
    assert_eq!(process.exited(), Some(Exit::Signal(9)));
}

/// Until the tree is killed, the number of its first process, and of its group, is nobody else's.
#[test]
fn one_that_has_ended_keeps_its_number_until_it_is_killed() {
    for isolation in [Isolation::Namespaces, Isolation::None] {
        let mut launch = launch(&["sh", "-c", "exit 7"]);
        launch.isolation = isolation;
        let Started { mut process, output, .. } = subject::start(&launch).unwrap();
        read_all(output);
        while process.exited().is_none() {
            std::thread::yield_now();
        }
        let folder = format!("/proc/{}", process.pid());
        let stat = fs::read_to_string(format!("{folder}/stat")).unwrap();
        assert!(stat.contains(") Z "), "{isolation:?}: {stat}");
        process.kill();
        assert_eq!(process.exited(), Some(Exit::Code(7)));
        assert!(!Path::new(&folder).exists(), "{isolation:?}");
    }
}

/// What is left of the group of one that has ended by itself goes with it.
#[test]
fn without_namespaces_the_group_of_the_dead_is_killed() {
    let fifo = tempdir("group").join("fifo");
    // The child is no program of its own: it opens a pipe that nobody else ever opens.
    let script = "rm -f \"$0\"; mkfifo \"$0\"; (: < \"$0\") & echo started";
    let mut plain = launch(&["sh", "-c", script, fifo.to_str().unwrap()]);
    plain.isolation = Isolation::None;
    let Started { mut process, output, .. } = subject::start(&plain).unwrap();
    while process.exited().is_none() {
        std::thread::yield_now();
    }
    drop(process);
    // The end of the stream comes when the last process that holds it is gone.
    assert_eq!(read_all(output), "started\n");
}

#[test]
fn a_program_that_is_not_there_is_named_before_anything_happens() {
    let folder = tempdir("interpreter");
    let script = folder.join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    executable(&script);
    let text = folder.join("text");
    fs::write(&text, "not a program").unwrap();
    executable(&text);
    let script = script.to_str().unwrap();
    let text = text.to_str().unwrap();
    for (command, expect) in [
        ("/no/such/controller", "/no/such/controller does not exist".to_owned()),
        (
            script,
            format!("{script} can't be executed: the interpreter that it names does not exist"),
        ),
        (
            text,
            format!(
                "{text} can't be executed: it is no program for this machine and names no interpreter"
            ),
        ),
    ] {
        assert_eq!(subject::start(&launch(&[command])).unwrap_err().to_string(), expect);
    }
    let mut nowhere = launch(&["sh"]);
    nowhere.dir = "/no/such/folder".into();
    assert_eq!(
        subject::start(&nowhere).unwrap_err().to_string(),
        "the working folder /no/such/folder is not a folder"
    );
    let mut plain = launch(&["sh"]);
    plain.isolation = Isolation::None;
    plain.service_account = Some("/".into());
    assert_eq!(
        subject::start(&plain).unwrap_err().to_string(),
        "a service-account folder can only be mounted with namespaces"
    );
}

fn tempdir(name: &str) -> std::path::PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_listener_is_reachable_from_inside_only() {
    let Some(python) = python() else { return };
    // The same address is taken on the machine: inside it is another one.
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap();
    let code = format!(
        "import http.client\n\
         c = http.client.HTTPConnection('127.0.0.1', {})\n\
         c.request('GET', '/echo/hello'); print(c.getresponse().read().decode(), flush=True)",
        address.port()
    );
    on_one_thread(async {
        let mut launch = launch(&[python.to_str().unwrap(), "-c", &code]);
        launch.port = address.port();
        let started = subject::start(&launch).unwrap();
        assert_eq!(started.listener.local_addr().unwrap(), address);
        let server = Server::serve(started.listener);
        let _from_outside = TcpStream::connect(address).unwrap();
        assert_eq!(Lines::new(started.output).next().await, "/echo/hello");
        assert_eq!(server.paths(), ["/echo/hello"]);
        outside.accept().unwrap(); // ours, and no other
        outside.set_nonblocking(true).unwrap();
        assert!(outside.accept().is_err());
    });
}

#[test]
fn two_subjects_may_bind_the_same_port() {
    let Some(python) = python() else { return };
    let code = "\
import socket, time
s = socket.socket(); s.bind(('', 8080)); s.listen(); print('bound', flush=True); time.sleep(1000)
";
    let command = [python.to_str().unwrap(), "-c", code];
    on_one_thread(async {
        let first = subject::start(&launch(&command)).unwrap();
        let second = subject::start(&launch(&command)).unwrap();
        assert_eq!(Lines::new(first.output).next().await, "bound");
        assert_eq!(Lines::new(second.output).next().await, "bound");
    });
}

#[test]
fn the_service_account_is_where_clients_look() {
    let folder = tempdir("account");
    fs::write(folder.join("token"), "secret").unwrap();
    let before: BTreeSet<_> = list("/run");
    let mut launch = launch(&[
        "sh",
        "-c",
        "cat /var/run/secrets/kubernetes.io/serviceaccount/token; echo; ls -A /run; echo; ps ax | head -1",
    ]);
    launch.service_account = Some(folder);
    let said = output_of(&launch);
    let mut parts = said.splitn(2, '\n');
    assert_eq!(parts.next(), Some("secret"));
    let rest = parts.next().unwrap();
    for entry in &before {
        assert!(rest.lines().any(|line| line == entry), "{entry} is missing in {rest}");
    }
    assert!(rest.contains("PID"), "{rest}"); // its /proc is a good one
    assert_eq!(list("/run"), before, "this machine's folder was changed");
}

fn list(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// A tree with grandchildren that have left session and process group, and orphans.
const TREE: &str = "\
sh -c 'sleep 1000 & setsid sleep 1000 & wait' &
sh -c '(setsid sh -c \"sleep 1000 & sleep 1000\" &)'
echo started
wait
";

/// The processes of this machine that carry our mark in their environment.
fn marked(mark: &str) -> usize {
    let needle = format!("TROMMEL_TEST={mark}");
    let holds = |path: std::path::PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == needle.as_bytes())
    };
    fs::read_dir("/proc").unwrap().filter(|entry| holds(entry.as_ref().unwrap().path())).count()
}

fn tree(mark: &str, isolation: Isolation) -> Launch {
    let mut launch = launch(&["sh", "-c", TREE]);
    launch.isolation = isolation;
    launch.env.push(("TROMMEL_TEST".into(), mark.into()));
    launch
}

#[test]
fn kill_leaves_nothing() {
    on_one_thread(async {
        let mut started = subject::start(&tree("kill", Isolation::Namespaces)).unwrap();
        let server = Server::serve(started.listener);
        assert_eq!(Lines::new(started.output).next().await, "started");
        crate::programs::quiet(&mut started.process, &server).await;
        assert!(marked("kill") >= 6, "the whole tree is there: {}", marked("kill"));
        started.process.kill();
        assert_eq!(marked("kill"), 0);
    });
}

#[test]
fn without_namespaces_kill_leaves_no_descendant() {
    on_one_thread(async {
        let mut plain = tree("plain", Isolation::None);
        plain.command[2] =
            "sh -c 'sleep 1000 & setsid sleep 1000 & wait' & echo started; wait".into();
        let mut started = subject::start(&plain).unwrap();
        let server = Server::serve(started.listener);
        assert_eq!(Lines::new(started.output).next().await, "started");
        crate::programs::quiet(&mut started.process, &server).await;
        assert_eq!(marked("plain"), 4);
        started.process.kill();
        assert_eq!(marked("plain"), 0);
    });
}

const HELPER: &str = "TROMMEL_TEST_FIFO";

/// Not a test of its own: run by the next one in a process that is then killed.
#[test]
fn helper_that_is_killed() {
    let Some(fifo) = std::env::var_os(HELPER) else { return };
    let code =
        "exec 3>\"$FIFO\"; sh -c 'sleep 1000 & setsid sleep 1000 & echo on >&3; wait' & wait";
    let mut launch = launch(&["sh", "-c", code]);
    launch.env.push(("FIFO".into(), fifo.into_string().unwrap()));
    // As a trial does: on a thread that ends long before the subject.
    let started = std::thread::spawn(move || subject::start(&launch).unwrap()).join().unwrap();
    loop {
        std::thread::park();
        std::hint::black_box(&started);
    }
}

#[test]
fn when_we_are_killed_nothing_survives() {
    use std::io::{BufRead, BufReader, Read};
    let fifo = tempdir("killed").join("fifo");
    let _ = fs::remove_file(&fifo);
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "life::helper_that_is_killed", "--nocapture"])
        .env(HELPER, &fifo)
        .spawn()
        .unwrap();
    // Opening waits for the subject to open the other end.
    let mut reader = BufReader::new(fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "on\n");
    helper.kill().unwrap();
    // The end of the stream comes when the last process of the tree is gone.
    reader.read_to_string(&mut line).unwrap();
    helper.wait().unwrap();
}

#[test]
fn dropping_kills() {
    let started = subject::start(&tree("drop", Isolation::Namespaces)).unwrap();
    drop(started);
    assert_eq!(marked("drop"), 0);
}

#[test]
fn frozen_means_frozen_and_thawed_goes_on() {
    on_one_thread(async {
        let code = "echo started; while :; do :; done";
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&["sh", "-c", code])).unwrap();
        let server = Server::serve(listener);
        assert_eq!(Lines::new(output).next().await, "started");
        process.freeze().unwrap();
        let found = crate::programs::quiet(&mut process, &server).await;
        assert_eq!(found.deadline, None);
        process.thaw().unwrap();
        assert!(matches!(process.look(&server.flight()), subject::Look::Busy(_)));
    });
}
