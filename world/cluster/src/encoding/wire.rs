//! The protobuf wire format: varints, lengths, tags.

/// Bytes that are no protobuf message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed protobuf")]
pub(crate) struct Malformed;

/// One field as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Splits a message into its fields.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Malformed)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let (head, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N as u64)?.try_into().map_err(|_| Malformed)
    }

    fn field(&mut self) -> Result<(u32, Payload<'a>), Malformed> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Payload::Bytes(self.take(length)?)
            }
            5 => Payload::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Malformed),
        };
        Ok((number, payload))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Payload<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a varint field.
pub(crate) fn put_number(out: &mut Vec<u8>, number: u32, value: u64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value);
}

/// Appends a 64-bit field.
pub(crate) fn put_fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    put_varint(out, u64::from(number) << 3 | 1);
    out.extend(value.to_le_bytes());
}

/// Appends a field of bytes: strings, bytes, messages.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field of bytes that `write` appends: their length is put in front of them when it is known.
pub(crate) fn put_nested<E>(
    out: &mut Vec<u8>,
    number: u32,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    put_varint(out, u64::from(number) << 3 | 2);
    let at = out.len();
    // Most lengths take this one byte; for others the bytes are moved once more.
    out.push(0);
    write(out)?;
    let length = out.len() - at - 1;
    match u8::try_from(length) {
        Ok(length @ ..0x80) => out[at] = length,
        _ => {
            let mut prefix = Vec::with_capacity(10);
            put_varint(&mut prefix, length as u64);
            out.splice(at..=at, prefix);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_bytes_are_bytes() {
        for length in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 100_000] {
            let (mut plain, mut nested) = (vec![9], vec![9]);
            let bytes: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            put_bytes(&mut plain, 7, &bytes);
            let written: Result<(), Malformed> = put_nested(&mut nested, 7, |out| {
                out.extend_from_slice(&bytes);
                Ok(())
            });
            assert_eq!((written, nested), (Ok(()), plain), "{length}");
        }
    }

    #[test]
    fn fields_survive_the_wire() {
        let mut out = Vec::new();
        put_number(&mut out, 1, u64::MAX);
        put_bytes(&mut out, 200, b"hello");
        put_fixed64(&mut out, 3, 7);
        let fields: Vec<_> = Fields(&out).collect();
        assert_eq!(
            fields,
            [
                Ok((1, Payload::Varint(u64::MAX))),
                Ok((200, Payload::Bytes(b"hello"))),
                Ok((3, Payload::Fixed64(7)))
            ]
        );
        for cut in 1..out.len() {
            // Never a panic; an error unless the cut falls between fields.
            let _ = Fields(&out[..cut]).collect::<Result<Vec<_>, _>>();
        }
        assert!(Fields(&[0x0a, 5, 1]).any(|field| field.is_err()));
    }
}
