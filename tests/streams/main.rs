//! Commands, logs and forwarded ports as clients meet them: kubectl beside `trommel serve`, and client-go in campaigns.
//!
//! Each client speaks both ways that there are: WebSockets, and SPDY.

mod client_go;

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    process::Stdio,
};

use rustix::process::Signal;
use trommel_tests::{Need, house::House, needs, product::Ended, served::Served};

const ANSWERS: &str = "\
- {pod: default/web, logs: \"one\\ntwo\\n\"}
- {selector: app=short, logs: \"begun\\n\"}
- {pod: web, container: web, command: [sh, -c, '*'], stdout: \"told\\n\", stderr: \"warned\\n\", exitCode: 3}
- {pod: web, command: [id, '**'], stdout: \"root\\n\"}
- {pod: web, attach: true, stdout: \"seen\\n\"}
";

/// A pod that ends by itself.
const SHORT: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: short, labels: {app: short}, annotations: {trommel.dev/runs-for: 1s}}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
";

/// What tells kubectl to leave WebSockets alone.
const SPDY_ONLY: [(&str, &str); 2] =
    [("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false"), ("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false")];

/// A server with the pod `web`, which runs.
fn served(test: &str) -> Served {
    let house = House::new(&format!("streams/{test}"), &[]);
    house.write("answers.yaml", ANSWERS);
    house.write("short.yaml", SHORT);
    let served = Served::start(&house.root, &["--answers", "answers.yaml"]);
    served.kubectl(&["run", "web", "--image=i"]).expect(0);
    served.kubectl(&["wait", "--for=condition=Ready", "pod/web"]).expect(0);
    served
}

fn kubectl(served: &Served, settings: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let mut kubectl = served.kubectl_command(arguments);
    kubectl.envs(settings.iter().copied());
    Ended::of(kubectl)
}

#[test]
fn kubectl_runs_commands() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let served = served("exec");
    for settings in [&[][..], &SPDY_ONLY] {
        let exec = |command: &[&str]| {
            kubectl(&served, settings, &[&["exec", "web", "--"], command].concat())
        };
        let well = exec(&["id", "-u"]);
        assert_eq!((well.code, well.stdout.as_str()), (Some(0), "root\n"), "{well}");
        let badly = exec(&["sh", "-c", "exit 3"]);
        assert_eq!((badly.code, badly.stdout.as_str()), (Some(3), "told\n"), "{badly}");
        let says = "warned\ncommand terminated with exit code 3\n";
        assert_eq!(badly.stderr, says, "{badly}");
        let unknown = exec(&["ls"]);
        assert_eq!(unknown.code, Some(1), "{unknown}");
        let says = "unable to upgrade connection: container not found (\"web\")";
        assert!(unknown.stderr.contains(says), "{unknown}");
        let attached = kubectl(&served, settings, &["attach", "web"]);
        assert_eq!((attached.code, attached.stdout.as_str()), (Some(0), "seen\n"), "{attached}");
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn kubectl_shows_logs() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let served = served("logs");
    let check = |arguments: &[&str], code: i32, expect: &str| {
        let ended = served.kubectl(&[&["logs"], arguments].concat());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        let said = if code == 0 { &ended.stdout } else { &ended.stderr };
        assert!(said.contains(expect), "{arguments:?}: no {expect:?} in {ended}");
    };
    check(&["web"], 0, "one\ntwo\n");
    check(&["web", "--tail=1"], 0, "two\n");
    check(
        &["web", "--previous"],
        1,
        "previous terminated container \"web\" in pod \"web\" not found",
    );
    check(&["web", "-c", "x"], 1, "container x is not valid for pod web");
    let short = served.kubeconfig.with_file_name("short.yaml").display().to_string();
    served.kubectl(&["create", "-f", &short]).expect(0);
    served.kubectl(&["wait", "--for=jsonpath={.status.containerStatuses}", "pod/short"]).expect(0);
    let followed = served.kubectl(&["logs", "-f", "short"]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(0), "begun\n"), "{followed}");
    // It was followed to its end.
    let phase = served.kubectl(&["get", "pod", "short", "-o", "jsonpath={.status.phase}"]);
    assert_eq!(phase.stdout, "Succeeded", "{phase}");
    served.kubectl(&["annotate", "node", "node-0", "trommel.dev/kubelet=stopped"]).expect(0);
    check(&["web"], 1, "dial tcp 10.0.0.1:10250: connect: connection refused");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn nobody_listens_on_a_forwarded_port() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let served = served("forward");
    for settings in [&[][..], &SPDY_ONLY] {
        let mut forward = served.kubectl_command(&["port-forward", "pod/web", ":80"]);
        forward.envs(settings.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut forward = forward.spawn().expect("it starts");
        let stdout = forward.stdout.take().expect("stdout is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let line = lines.next().expect("a line").expect("text");
        let address = line.strip_prefix("Forwarding from ").and_then(|it| it.split_once(" ->"));
        let Some((address, _)) = address else {
            panic!("{line:?}: {}", Ended::from(forward.wait_with_output().expect("it ends")))
        };
        let mut stream = TcpStream::connect(address).expect("it listens");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("an end");
        assert_eq!(all, b"");
        // kubectl gives up where a port can't be reached.
        let ended = Ended::from(forward.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, Some(1), "{ended}");
        let says = "dial tcp4 127.0.0.1:80: connect: connection refused";
        assert!(ended.stderr.contains(says), "{ended}");
    }
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn wrong_answers_are_told_with_their_place() {
    let house = House::new("streams/wrong", &[]);
    let check = |answers: &str, says: &str| {
        house.write("answers.yaml", answers);
        let arguments = ["serve", "--answers", "answers.yaml"];
        let ended = trommel_tests::product::run(&house.root, arguments);
        assert_eq!(ended.code, Some(64), "{answers}: {ended}");
        assert!(ended.stderr.contains(says), "{answers}: no {says:?} in {ended}");
    };
    check("- {pod: a}\n", "answers.yaml:1:3: it answers nothing");
    check("- {pod: a, logs: a}\n- {attach: true, exitCode: 1}\n", "answers.yaml:2:3: exitCode");
    check("- {pods: a}\n", "unknown field `pods`");
    check("- {command: [a], exitCode: 256}\n", "answers.yaml:1:");
    house.write("answers.yaml", "- {logs: a}\n");
    let arguments = ["serve", "--answers", "answers.yaml", "--environment", "none"];
    let ended = trommel_tests::product::run(&house.root, arguments);
    assert!(ended.code == Some(64) && ended.stderr.contains("--answers: there are"), "{ended}");
}
