//! Handles each event of a watch with some kind of work, and says from when to when it was busy: the Rust member of
//! `examples/truth/`, on a runtime with two workers.
#![allow(clippy::print_stdout)]

use std::io::Write;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::mpsc,
};

const SERVER: &str = "127.0.0.1:18080";

/// The kernel's monotonic clock, which `Instant` reads too.
fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

async fn get(path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(SERVER).await.expect("a server");
    stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).await.expect("it reads");
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        answer.read_line(&mut line).await.expect("a head");
    }
    answer
}

async fn work(number: u64) {
    match number % 5 {
        0 => {
            let mut value = number;
            for _ in 0..200_000 {
                value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005) + 1);
            }
        }
        1 => {
            let (to, mut from) = mpsc::channel::<u64>(1);
            let (back, mut answers) = mpsc::channel::<u64>(1);
            tokio::spawn(async move {
                while let Some(value) = from.recv().await {
                    back.send(value).await.expect("it listens");
                }
            });
            for value in 0..50 {
                to.send(value).await.expect("it echoes");
                answers.recv().await;
            }
        }
        2 => {
            let path = std::env::temp_dir().join(format!("watcher-{number}"));
            let mut file = std::fs::File::create(&path).expect("a file");
            file.write_all(b"text").and_then(|()| file.sync_all()).expect("it holds");
            std::fs::remove_file(path).expect("it goes");
        }
        3 => {
            let run = || std::process::Command::new("true").status();
            tokio::task::spawn_blocking(run).await.expect("no panic").expect("it runs");
        }
        _ => {
            let path = format!("/echo/{number}");
            let mut body = vec![0; path.len()];
            get(&path).await.read_exact(&mut body).await.expect("a body");
        }
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let (todo, mut next) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(number) = next.recv().await {
            let begin = now();
            work(number).await;
            println!("{number} {begin} {}", now());
        }
    });
    let mut lines = get("/watch").await;
    let mut line = String::new();
    loop {
        line.clear();
        lines.read_line(&mut line).await.expect("a chunk's length");
        line.clear();
        if lines.read_line(&mut line).await.expect("a chunk") == 0 {
            return;
        }
        todo.send(line.trim().parse().expect("a number")).expect("a worker");
        line.clear();
        lines.read_line(&mut line).await.expect("a chunk's end");
    }
}
