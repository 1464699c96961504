//! What a certificate request asks for (PKCS #10, RFC 2986): its subject, its other names, its key. Only as much of DER
//! as that takes; the signature is the API server's affair.

/// The object identifiers of most attributes of names, without their last arc: 2.5.4.
const ATTRIBUTES: &[u8] = &[0x55, 4];
/// The last arc of a common name's.
pub const COMMON_NAME: u8 = 3;
/// Of an organization's.
pub const ORGANIZATION: u8 = 10;
/// The object identifier of the attribute with requested extensions, 1.2.840.113549.1.9.14.
const EXTENSIONS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
/// Of the extension with other names, 2.5.29.17.
const OTHER_NAMES: &[u8] = &[0x55, 0x1d, 17];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OCTETS: u8 = 4;

/// Another name of whom a certificate is for: what kind of name, and its bytes.
pub type Name = (NameKind, Vec<u8>);

/// Kinds of other names that count (`GeneralName` of RFC 5280); the number is their tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// `dNSName`.
    Dns = 2,
    /// `rfc822Name`.
    Email = 1,
    /// `iPAddress`.
    Address = 7,
    /// `uniformResourceIdentifier`.
    Uri = 6,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// Attributes of the subject below 2.5.4, by their last arc, in order.
    pub subject: Vec<(u8, String)>,
    /// Other names.
    pub names: Vec<Name>,
    /// The key, as a SubjectPublicKeyInfo in DER.
    pub public_key: Vec<u8>,
}

impl Asked {
    /// The values of an attribute of the subject.
    pub fn values(&self, attribute: u8) -> Vec<&str> {
        let values = self.subject.iter().filter(|(found, _)| *found == attribute);
        values.map(|(_, value)| &**value).collect()
    }

    /// The last common name of the subject; empty if there is none.
    pub fn common_name(&self) -> &str {
        self.values(COMMON_NAME).last().copied().unwrap_or("")
    }

    /// Whether it asks for names of this kind.
    pub fn has(&self, kind: NameKind) -> bool {
        self.names.iter().any(|(found, _)| *found == kind)
    }
}

/// Reads `spec.request`: PEM, in base64.
pub(super) fn read(request: &str) -> Option<Asked> {
    let pem = String::from_utf8(base64(request)?).ok()?;
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE REQUEST-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE REQUEST-----")?;
    let der = base64(body)?;
    let (request, _) = part(&der, SEQUENCE)?;
    let (info, _) = part(request, SEQUENCE)?;
    let (_, rest) = any(info)?;
    let (subject, key) = part(rest, SEQUENCE)?;
    let (_, rest) = any(key)?;
    let mut asked =
        Asked { public_key: key[..key.len() - rest.len()].to_vec(), ..Asked::default() };
    for (identifier, text) in attributes(subject)? {
        if let Some([attribute]) = identifier.strip_prefix(ATTRIBUTES) {
            asked.subject.push((*attribute, text));
        }
    }
    // Attributes come last, and may be absent.
    if let Some((attributes, _)) = any(rest) {
        asked.names = parts(attributes.1).filter_map(other_names).flatten().collect();
    }
    Some(asked)
}

/// The attributes of a name (`Name` of RFC 5280, without its head), in order: their object identifiers in DER without
/// head, and their values. None if it is no name.
pub fn attributes(name: &[u8]) -> Option<Vec<(&[u8], String)>> {
    let each = parts(name).flat_map(parts).map(|attribute| {
        let ((_, identifier), value) = any(attribute)?;
        Some((identifier, String::from_utf8_lossy(any(value)?.0.1).into_owned()))
    });
    each.collect()
}

/// The other names that an attribute asks for, if it asks for extensions.
fn other_names(attribute: &[u8]) -> Option<Vec<Name>> {
    let (identifier, rest) = any(attribute)?;
    if identifier.1 != EXTENSIONS {
        return None;
    }
    let (values, _) = part(rest, SET)?;
    let (extensions, _) = part(values, SEQUENCE)?;
    let mut found = Vec::new();
    for extension in parts(extensions) {
        let (identifier, mut rest) = any(extension)?;
        if identifier.1 != OTHER_NAMES {
            continue;
        }
        // Whether it is critical comes in between, if it is said.
        let mut value = any(rest)?;
        if value.0.0 != OCTETS {
            rest = value.1;
            value = any(rest)?;
        }
        let (names, _) = part(value.0.1, SEQUENCE)?;
        found.extend(elements(names).filter_map(|(tag, bytes)| {
            let kinds = [NameKind::Dns, NameKind::Email, NameKind::Address, NameKind::Uri];
            let kind = kinds.into_iter().find(|kind| *kind as u8 == tag & 0x1f)?;
            Some((kind, bytes.to_vec()))
        }));
    }
    Some(found)
}

type Element<'a> = (u8, &'a [u8]);

/// The first element, and what comes after it.
fn any(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short if *short < 0x80 => (usize::from(*short), rest),
        long => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let digits = digits.get(..).filter(|digits| digits.len() <= 4)?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some(((*tag, value), rest))
}

/// The content of the first element, if it has this tag.
fn part(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let ((found, value), rest) = any(bytes)?;
    (found == tag).then_some((value, rest))
}

fn elements(mut bytes: &[u8]) -> impl Iterator<Item = Element<'_>> {
    std::iter::from_fn(move || {
        let (element, rest) = any(bytes)?;
        bytes = rest;
        Some(element)
    })
}

/// The contents of all elements.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    elements(bytes).map(|(_, value)| value)
}

/// Bytes of base64; white space in it counts for nothing.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}
