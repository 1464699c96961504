//! A toy HTTP responder that keeps the books that a proxy keeps.
//!
//! `GET /echo/…` answers with the path; `GET /watch` is a stream to which lines are pushed; `GET
//! /hold` is answered on [`Server::release`]. It runs as tasks of the calling test's runtime.

use std::{cell::RefCell, future::Future, net::SocketAddr, rc::Rc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::spawn_local,
};
use trace::{Flight, SocketPair};

#[derive(Default)]
struct Books {
    flight: Flight,
    paths: Vec<String>,
    pushed: Vec<String>,
}

/// One server; clones are handles to it.
#[derive(Clone, Default)]
pub struct Server {
    books: Rc<RefCell<Books>>,
    changed: Rc<Notify>,
    released: Rc<Notify>,
}

/// Runs a test body on a runtime as trials have it.
pub fn on_one_thread<F: Future>(body: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, body)
}

impl Server {
    pub fn serve(listener: std::net::TcpListener) -> Server {
        let server = Server::default();
        let listener = TcpListener::from_std(listener).unwrap();
        let own = server.clone();
        spawn_local(async move {
            while let Ok((stream, peer)) = listener.accept().await {
                spawn_local(own.clone().connection(stream, peer));
            }
        });
        server
    }

    pub fn flight(&self) -> Flight {
        self.books.borrow().flight.clone()
    }

    /// Paths requested so far.
    pub fn paths(&self) -> Vec<String> {
        self.books.borrow().paths.clone()
    }

    /// Waits until a path was requested.
    pub async fn requested(&self, path: &str) {
        loop {
            let changed = self.changed.notified();
            if self.books.borrow().paths.iter().any(|known| known == path) {
                return;
            }
            changed.await;
        }
    }

    /// Writes a line to every watch.
    pub fn push(&self, line: &str) {
        let mut books = self.books.borrow_mut();
        books.pushed.push(line.to_owned());
        books.flight.undelivered += 1;
        drop(books);
        self.changed.notify_waiters();
    }

    /// Answers the held requests.
    pub fn release(&self) {
        self.released.notify_waiters();
    }

    async fn connection(self, mut stream: TcpStream, peer: SocketAddr) {
        stream.set_nodelay(true).unwrap();
        let local = stream.local_addr().unwrap();
        let pair = SocketPair { local, peer, sent_bytes: 0, received_bytes: 0 };
        self.note(|flight| flight.connections.push(pair));
        self.talk(&mut stream, peer).await;
        drop(stream);
        self.note(|flight| flight.connections.retain(|pair| pair.peer != peer));
    }

    fn note(&self, change: impl FnOnce(&mut Flight)) {
        let mut books = self.books.borrow_mut();
        change(&mut books.flight);
        books.flight.activity += 1;
    }

    async fn talk(&self, stream: &mut TcpStream, peer: SocketAddr) {
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).await.unwrap_or(0);
            if count == 0 {
                return;
            }
            request.extend_from_slice(&buffer[..count]);
            self.note(|flight| {
                let pair = flight.connections.iter_mut().find(|pair| pair.peer == peer).unwrap();
                pair.received_bytes += count as u64;
            });
            let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8(request.drain(..end + 4).collect()).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            self.answer(stream, peer, &path).await;
        }
    }

    async fn answer(&self, stream: &mut TcpStream, peer: SocketAddr, path: &str) {
        let watch = path == "/watch";
        if !watch {
            self.note(|flight| flight.calls.push(format!("GET {path}")));
        }
        self.books.borrow_mut().paths.push(path.to_owned());
        self.changed.notify_waiters();
        if watch {
            return self.stream(stream, peer).await;
        }
        if path == "/hold" {
            self.released.notified().await;
        }
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len());
        self.write(stream, peer, &text).await;
        self.note(|flight| {
            let at = flight.calls.iter().position(|call| call.ends_with(path)).unwrap();
            flight.calls.remove(at);
        });
    }

    async fn stream(&self, stream: &mut TcpStream, peer: SocketAddr) {
        self.write(stream, peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let mut done = 0;
        loop {
            let changed = self.changed.notified();
            let next = self.books.borrow().pushed.get(done).cloned();
            let Some(line) = next else {
                changed.await;
                continue;
            };
            done += 1;
            self.write(stream, peer, &format!("{:x}\r\n{line}\n\r\n", line.len() + 1)).await;
            self.note(|flight| flight.undelivered -= 1);
        }
    }

    async fn write(&self, stream: &mut TcpStream, peer: SocketAddr, text: &str) {
        // The books are ahead of the socket, as a proxy's must be.
        self.note(|flight| {
            let pair = flight.connections.iter_mut().find(|pair| pair.peer == peer).unwrap();
            pair.sent_bytes += text.len() as u64;
        });
        let _ = stream.write_all(text.as_bytes()).await;
    }
}
