//! A way to the cluster on which connections can be cut, in the middle of whatever passes.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Connections that were made and not cut.
type Open = Arc<Mutex<Vec<TcpStream>>>;

/// A relay; it ends with the process.
pub struct Relay {
    /// Its port on 127.0.0.1.
    pub port: u16,
    open: Open,
}

impl Relay {
    /// To a port of 127.0.0.1.
    pub fn to(port: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let own = listener.local_addr().expect("it is bound").port();
        let open = Open::default();
        let accepted = open.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(("127.0.0.1", port)).expect("the cluster listens");
                pass(&near, &far, &accepted);
                pass(&far, &near, &accepted);
            }
        });
        Relay { port: own, open }
    }

    /// Cuts all connections. How many there were.
    pub fn cut(&self) -> usize {
        let cut: Vec<TcpStream> = self.open.lock().expect("not poisoned").drain(..).collect();
        // One that has ended by itself can't be cut.
        cut.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        cut.len()
    }
}

fn pass(from: &TcpStream, to: &TcpStream, open: &Open) {
    let mut ends = [from, to].map(|end| end.try_clone().expect("a stream can be shared"));
    open.lock().expect("not poisoned").push(from.try_clone().expect("a stream can be shared"));
    thread::spawn(move || {
        let [from, to] = &mut ends;
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count) = from.read(&mut bytes)
            && count > 0
            && to.write_all(&bytes[..count]).is_ok()
        {}
        drop(to.shutdown(Shutdown::Both));
    });
}
