//! Frames as spdystream writes them, and what it reads.

use proptest::prelude::*;

use super::{
    headers::tests::{BLOCKS, block, bytes},
    *,
};

/// A control frame.
pub(in super::super) fn control(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    let head = [0x80, 3, 0, kind as u8, 0, length[1], length[2], length[3]];
    [&head, body].concat()
}

/// A frame that opens a stream, with headers in a block.
pub(in super::super) fn syn(stream: u32, block: &[u8]) -> Vec<u8> {
    control(SYN_STREAM, &[&stream.to_be_bytes()[..], &[0; 6], block].concat())
}

/// The same with blocks that open an error stream and one for standard output.
pub(in super::super) fn two_streams() -> Vec<u8> {
    [syn(1, &bytes(BLOCKS[0])), syn(3, &bytes(BLOCKS[1]))].concat()
}

/// A frame that opens a stream with these headers, of a client that has opened none if it is the first.
pub(in super::super) fn open(stream: u32, headers: &[(&str, &str)]) -> Vec<u8> {
    syn(stream, &block(stream == 1, headers))
}

fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short").to_be_bytes();
    [&stream.to_be_bytes()[..], &[flags, length[1], length[2], length[3]], bytes].concat()
}

#[test]
fn streams_are_opened_however_bytes_come() {
    let stdin = data(1, 0, &[b'x'; 1000]);
    let all = [syn(1, &bytes(BLOCKS[0])), stdin, syn(3, &bytes(BLOCKS[1]))].concat();
    for size in [1, 7, all.len()] {
        let mut session = Session::new().expect("a session");
        let mut opened = Vec::new();
        for piece in all.chunks(size) {
            opened.extend(session.take(piece).expect("SPDY"));
        }
        let found: Vec<(u32, &str)> =
            opened.iter().map(|one| (one.stream, one.headers["streamtype"].as_str())).collect();
        assert_eq!(found, [(1, "error"), (3, "stdout")], "pieces of {size}");
        assert_eq!(session.output(), b"");
    }
}

#[test]
fn pings_are_answered_and_the_rest_is_read_over() {
    let mut session = Session::new().expect("a session");
    let ping = control(PING, &[0, 0, 0, 1]);
    let others = [
        control(SETTINGS, &[0; 12]),
        control(WINDOW_UPDATE, &[0; 8]),
        control(RST_STREAM, &[0, 0, 0, 1, 0, 0, 0, 5]),
        control(PING, &[0, 0, 0, 2]),
        control(GO_AWAY, &[0; 8]),
    ];
    assert_eq!(session.take(&[&others.concat()[..], &ping].concat()), Ok(vec![]));
    assert_eq!(session.output(), ping);
    let unknown = session.take(&control(10, &[]));
    assert_eq!(unknown, Err(Broken("an unknown control frame")));
}

#[test]
fn what_is_written_has_frames() {
    let mut session = Session::new().expect("a session");
    session.take(&two_streams()).expect("SPDY");
    session.accept(1);
    session.accept(3);
    let reply = |stream: u32, first: bool| {
        control(SYN_REPLY, &[&stream.to_be_bytes()[..], &headers::nothing(first)].concat())
    };
    assert_eq!(session.output(), [reply(1, true), reply(3, false)].concat());
    session.write_all(3, b"told");
    assert_eq!(session.output(), [data(3, 0, b"told"), data(3, 1, b"")].concat());
    session.refuse(3);
    assert_eq!(session.output(), control(RST_STREAM, &[0, 0, 0, 3, 0, 0, 0, 5]));
}

#[test]
fn numbers_of_streams_are_odd_and_grow() {
    for wrong in [2, 1] {
        let mut session = Session::new().expect("a session");
        session.take(&syn(1, &bytes(BLOCKS[0]))).expect("SPDY");
        assert_eq!(session.take(&syn(wrong, &bytes(BLOCKS[1]))), Ok(vec![]));
        let reset = [&[0, 0, 0, wrong as u8][..], &[0, 0, 0, 1]].concat();
        assert_eq!(session.output(), control(RST_STREAM, &reset));
    }
}

/// A frame as clients send it, or as nobody should.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let some = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        some.clone(),
        (0..12_u16, some.clone()).prop_map(|(kind, body)| control(kind, &body)),
        (1..9_u32, some).prop_map(|(stream, bytes)| data(stream, 0, &bytes)),
        (0..9_u32).prop_map(|stream| open(stream, &[("streamtype", "error")])),
    ]
}

proptest! {
    /// Whatever comes in whatever pieces: it is the same as in one piece, and answers are no longer than what came.
    #[test]
    fn any_bytes_are_read_or_refused(frames in prop::collection::vec(any_frame(), 0..8), size in 1..50_usize) {
        let all = frames.concat();
        let read = |size: usize| {
            let mut session = Session::new().expect("a session");
            let mut opened = Vec::new();
            for piece in all.chunks(size) {
                match session.take(piece) {
                    Ok(more) => opened.extend(more),
                    Err(why) => return Err(why),
                }
            }
            Ok((opened, session.output()))
        };
        let whole = read(all.len().max(1));
        prop_assert_eq!(&read(size), &whole);
        prop_assert!(whole.map_or(0, |(_, output)| output.len()) <= all.len());
    }
}
