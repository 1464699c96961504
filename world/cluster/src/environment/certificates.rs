//! Certificates of the cluster's authority, for approved CertificateSigningRequests (X.509, RFC 5280, in DER).
//!
//! The authority is the same in every world of a process. In campaigns its key is also the same in every process, and is
//! here for everyone to read, as that of the tokens of ServiceAccounts is: the world of a trial is a program's toy, and
//! lives for less than a second. A server that others use draws its own ([`use_authority`]). The authority signs with Ed25519 (RFC 8032, 8410), by which the same
//! certificate gets the same signature; its serial number comes from the uid of its request. So the same world
//! issues the same bytes.
//!
//! Who shows such a certificate to the server is who it says (`crate::auth::x509`).
//!
//! Who could notice: a program that can't check signatures of Ed25519.

use std::sync::{LazyLock, OnceLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use controllers::signing_request::NewCertificate;
use ring::signature::{Ed25519KeyPair, KeyPair};
use trace::Time;

/// The authority's key in campaigns, and its name.
const SEED: [u8; 32] = *b"trommel's certificate authority.";
const NAME: &str = "kubernetes";

/// The key of an authority of this process only.
static DRAWN: OnceLock<[u8; 32]> = OnceLock::new();

static KEY: LazyLock<Ed25519KeyPair> = LazyLock::new(|| {
    let seed = DRAWN.get().unwrap_or(&SEED);
    Ed25519KeyPair::from_seed_unchecked(seed).expect("32 bytes are a key")
});

/// The letters of a line of PEM.
const LINE: usize = 64;
/// From this year on times have four digits of it (`UTCTime` and `GeneralizedTime`).
const LONG_YEARS: &str = "2050";

/// The bit of `KeyUsage` for who signs certificates.
const CERTIFICATE_SIGN: u16 = 1 << 5;

/// Tags of DER.
mod tag {
    pub(super) const BOOLEAN: u8 = 1;
    pub(super) const INTEGER: u8 = 2;
    pub(super) const BITS: u8 = 3;
    pub(super) const OCTETS: u8 = 4;
    pub(super) const IDENTIFIER: u8 = 6;
    pub(super) const UTF8: u8 = 12;
    pub(super) const PRINTABLE: u8 = 19;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const SET: u8 = 0x31;
    pub(super) const UTC_TIME: u8 = 23;
    pub(super) const GENERALIZED_TIME: u8 = 24;
    /// Primitive, of the context.
    pub(super) const CONTEXT: u8 = 0x80;
    /// Constructed, of the context.
    pub(super) const EXPLICIT: u8 = 0xa0;
}

/// id-Ed25519, 1.3.101.112.
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// Attributes of names, 2.5.4; the common name's is the third.
const ATTRIBUTES: [u8; 2] = [0x55, 4];
const COMMON_NAME: u8 = 3;
/// Extensions, 2.5.29: their last arcs.
const EXTENSIONS: [u8; 2] = [0x55, 0x1d];
const SUBJECT_KEY: u8 = 14;
const KEY_USAGE: u8 = 15;
const OTHER_NAMES: u8 = 17;
const CONSTRAINTS: u8 = 19;
const AUTHORITY_KEY: u8 = 35;
const EXTENDED_USAGE: u8 = 37;

/// The certificate in PEM, for the request of this uid.
pub(super) fn issue(new: &NewCertificate, uid: &str) -> String {
    let dates = sequence(&[time(new.since), time(new.until)]);
    signed(uid, dates, name(&new.subject), new.public_key.clone(), &extensions(new))
}

/// Gives this process an authority of its own, by 32 bytes that nobody else knows. To be called before anything is signed:
/// later calls do nothing.
pub fn use_authority(seed: [u8; 32]) {
    let _ = DRAWN.set(seed);
}

/// The authority's own certificate in PEM: who shows a certificate that leads to it is known to every world's API server.
pub fn client_authority() -> String {
    // As long as times can be told.
    let dates = sequence(&[time(Time(0)), time(Time(i64::MAX))]);
    let key = sequence(&[sequence(&[element(tag::IDENTIFIER, ED25519)]), bits(0, public_key())]);
    let extensions = [
        extension(KEY_USAGE, true, &key_usage(CERTIFICATE_SIGN)),
        extension(CONSTRAINTS, true, &sequence(&[element(tag::BOOLEAN, &[0xff])])),
        extension(SUBJECT_KEY, false, &element(tag::OCTETS, &key_identifier())),
    ];
    signed(NAME, dates, authority(), key, &extensions)
}

fn authority() -> Vec<u8> {
    name(&[(COMMON_NAME, vec![NAME.to_owned()])])
}

fn public_key() -> &'static [u8] {
    KEY.public_key().as_ref()
}

fn key_identifier() -> [u8; 20] {
    let mut identifier = [0; 20];
    identifier.copy_from_slice(&blake3::hash(public_key()).as_bytes()[..20]);
    identifier
}

/// A certificate in PEM, its serial number made from `seed`.
fn signed(
    seed: &str,
    dates: Vec<u8>,
    subject: Vec<u8>,
    key: Vec<u8>,
    extensions: &[Vec<u8>],
) -> String {
    let algorithm = sequence(&[element(tag::IDENTIFIER, ED25519)]);
    let signed = sequence(&[
        element(tag::EXPLICIT, &element(tag::INTEGER, &[2])), // version 3
        element(tag::INTEGER, &serial(seed)),
        algorithm.clone(),
        authority(),
        dates,
        subject,
        key,
        element(tag::EXPLICIT | 3, &sequence(extensions)),
    ]);
    let signature = bits(0, KEY.sign(&signed).as_ref());
    pem(&sequence(&[signed, algorithm, signature]))
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines = text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line) + "\n");
    let body: String = lines.collect();
    format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
}

/// A tag, a length, a value.
fn element(tag: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(value.len()) {
        Ok(length) if length < 0x80 => bytes.push(length),
        _ => {
            let digits = value.len().to_be_bytes();
            let zeros = digits.iter().take_while(|digit| **digit == 0).count();
            let digits = &digits[zeros..];
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(value);
    bytes
}

fn sequence(elements: &[Vec<u8>]) -> Vec<u8> {
    element(tag::SEQUENCE, &elements.concat())
}

fn bits(unused: u8, value: &[u8]) -> Vec<u8> {
    element(tag::BITS, &[&[unused], value].concat())
}

/// Positive, and never zero.
fn serial(uid: &str) -> [u8; 16] {
    let digest = blake3::hash(uid.as_bytes());
    let mut serial = [0; 16];
    serial.copy_from_slice(&digest.as_bytes()[..16]);
    serial[0] = serial[0] & 0x3f | 0x40;
    serial
}

/// As Go writes it: printable, where all its letters are.
fn text(text: &str) -> Vec<u8> {
    let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
    let tag = if text.chars().all(printable) { tag::PRINTABLE } else { tag::UTF8 };
    element(tag, text.as_bytes())
}

/// Each attribute is a set of its values, in the order of their bytes.
fn name(attributes: &[(u8, Vec<String>)]) -> Vec<u8> {
    let sets = attributes.iter().map(|(attribute, values)| {
        let [first, second] = ATTRIBUTES;
        let identifier = element(tag::IDENTIFIER, &[first, second, *attribute]);
        let value = |value: &String| sequence(&[identifier.clone(), text(value)]);
        let mut values: Vec<Vec<u8>> = values.iter().map(value).collect();
        values.sort();
        element(tag::SET, &values.concat())
    });
    sequence(&sets.collect::<Vec<_>>())
}

fn time(time: Time) -> Vec<u8> {
    let digits: String =
        time.rfc3339().chars().filter(|c| c.is_ascii_digit() || *c == 'Z').collect();
    match &digits[..4] < LONG_YEARS {
        true => element(tag::UTC_TIME, &digits.as_bytes()[2..]),
        false => element(tag::GENERALIZED_TIME, digits.as_bytes()),
    }
}

fn extension(last: u8, critical: bool, value: &[u8]) -> Vec<u8> {
    let [first, second] = EXTENSIONS;
    let mut parts = vec![element(tag::IDENTIFIER, &[first, second, last])];
    if critical {
        parts.push(element(tag::BOOLEAN, &[0xff]));
    }
    parts.push(element(tag::OCTETS, value));
    sequence(&parts)
}

/// In the order in which Go writes them.
fn extensions(new: &NewCertificate) -> Vec<Vec<u8>> {
    let mut extensions = Vec::new();
    if new.key_usage != 0 {
        extensions.push(extension(KEY_USAGE, true, &key_usage(new.key_usage)));
    }
    if !new.extended_usages.is_empty() {
        let usages = new.extended_usages.iter().map(|usage| element(tag::IDENTIFIER, usage));
        let usages: Vec<Vec<u8>> = usages.collect();
        extensions.push(extension(EXTENDED_USAGE, false, &sequence(&usages)));
    }
    // It is no authority.
    extensions.push(extension(CONSTRAINTS, true, &sequence(&[])));
    let key = element(tag::CONTEXT, &key_identifier());
    extensions.push(extension(AUTHORITY_KEY, false, &sequence(&[key])));
    if !new.names.is_empty() {
        let names = new.names.iter();
        let names: Vec<Vec<u8>> =
            names.map(|(kind, value)| element(tag::CONTEXT | *kind as u8, value)).collect();
        extensions.push(extension(OTHER_NAMES, new.subject.is_empty(), &sequence(&names)));
    }
    extensions
}

/// Bits from the highest of the first byte down; those at the end that are not set are left out.
fn key_usage(usage: u16) -> Vec<u8> {
    let [low, high] = usage.to_le_bytes();
    let bytes = [low.reverse_bits(), high.reverse_bits()];
    let length = if bytes[1] == 0 { 1 } else { 2 };
    bits(bytes[length - 1].trailing_zeros() as u8, &bytes[..length])
}

#[cfg(test)]
mod tests {
    use controllers::signing_request::NameKind;
    use ring::signature::{ED25519 as VERIFIER, UnparsedPublicKey};

    use super::*;

    /// Of an Ed25519 key, in DER.
    fn key() -> Vec<u8> {
        let algorithm = sequence(&[element(tag::IDENTIFIER, ED25519)]);
        sequence(&[algorithm, bits(0, KEY.public_key().as_ref())])
    }

    fn new() -> NewCertificate {
        NewCertificate {
            subject: vec![(10, vec!["b".to_owned(), "a".to_owned()]), (3, vec!["n".to_owned()])],
            names: vec![(NameKind::Dns, b"n.example.com".to_vec())],
            public_key: key(),
            key_usage: 0b101,
            extended_usages: vec![&[0x2b, 6, 1, 5, 5, 7, 3, 2]],
            since: Time(1_767_225_600_000_000_000),
            until: Time(2_600_000_000_000_000_000),
        }
    }

    #[test]
    fn the_authority_signs_what_it_issues() {
        let pem = issue(&new(), "u");
        assert_eq!(issue(&new(), "u"), pem, "the same bytes");
        assert_ne!(issue(&new(), "v"), pem, "another serial number");
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(body).expect("base64");
        // The last 64 bytes are the signature of the first part, which ends where its length says.
        let signature = &der[der.len() - 64..];
        let length = usize::from(u16::from_be_bytes([der[6], der[7]]));
        let signed = &der[4..8 + length];
        assert_eq!(&signed[..2], [tag::SEQUENCE, 0x82]);
        let public = UnparsedPublicKey::new(&VERIFIER, KEY.public_key().as_ref());
        public.verify(signed, signature).expect("it is its signature");
    }

    #[test]
    fn values_are_written_as_they_are_to_be() {
        assert_eq!(element(4, &[7; 3]), [4, 3, 7, 7, 7]);
        assert_eq!(element(4, &[7; 200])[..3], [4, 0x81, 200]);
        assert_eq!(element(4, &[7; 300])[..4], [4, 0x82, 1, 44]);
        // digitalSignature, keyEncipherment; decipherOnly is the ninth.
        assert_eq!(key_usage(0b101), [3, 2, 5, 0b1010_0000]);
        assert_eq!(key_usage(0b1_0000_0000), [3, 3, 7, 0, 0x80]);
        let digits = |time: &[u8]| String::from_utf8_lossy(&time[2..]).into_owned();
        assert_eq!(digits(&time(Time(1_767_225_600_000_000_000))), "260101000000Z");
        assert_eq!(digits(&time(Time(2_600_000_000_000_000_000))), "20520522141320Z");
        assert_eq!(text("system:nodes")[0], tag::PRINTABLE);
        assert_eq!(text("a@b")[0], tag::UTF8);
        let sorted = name(&[(10, vec!["b".to_owned(), "a".to_owned()])]);
        let at = |letter: u8| sorted.iter().rposition(|byte| *byte == letter);
        assert!(at(b'a') < at(b'b'));
    }
}
