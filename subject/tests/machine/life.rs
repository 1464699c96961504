//! Start, isolation, end.

use subject::{Exit, Isolation, StartError, Started};

use crate::programs::{launch, output_of, read_all};

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
fn the_end_is_reported_once_it_came() {
    for (command, expect) in
        [("exit 7", Exit::Code(7)), ("kill -SEGV $(sh -c 'echo $PPID'); exit 3", Exit::Code(3))]
    {
        let Started { mut process, output, .. } =
            subject::start(&launch(&["sh", "-c", command])).unwrap();
        read_all(output);
        process.kill();
        assert_eq!(process.exited(), Some(expect), "{command}");
    }
}
