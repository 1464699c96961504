//! What a certificate request asks for (PKCS #10, RFC 2986): its subject, and whether it asks for other names. Only as
//! much of DER as that takes; the signature is the API server's affair.

/// The object identifier of a common name, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// Of an organization, 2.5.4.10.
const ORGANIZATION: &[u8] = &[0x55, 4, 10];
/// Of the attribute with requested extensions, 1.2.840.113549.1.9.14.
const EXTENSIONS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
/// Of the extension with other names, 2.5.29.17.
const OTHER_NAMES: &[u8] = &[0x55, 0x1d, 17];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OCTETS: u8 = 4;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The last common name of the subject.
    pub common_name: String,
    /// Its organizations.
    pub organizations: Vec<String>,
    /// Whether it asks for DNS names, addresses of any kind, or URIs.
    pub other_names: bool,
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
    let (subject, rest) = part(rest, SEQUENCE)?;
    let (_, rest) = any(rest)?;
    let mut asked = Asked::default();
    for names in parts(subject) {
        for name in parts(names) {
            let (identifier, value) = any(name)?;
            let text = || Some(String::from_utf8_lossy(any(value)?.0.1).into_owned());
            match identifier.1 {
                COMMON_NAME => asked.common_name = text()?,
                ORGANIZATION => asked.organizations.push(text()?),
                _ => {}
            }
        }
    }
    // Attributes come last, and may be absent.
    if let Some((attributes, _)) = any(rest) {
        asked.other_names =
            parts(attributes.1).any(|attribute| has_other_names(attribute) == Some(true));
    }
    Some(asked)
}

fn has_other_names(attribute: &[u8]) -> Option<bool> {
    let (identifier, rest) = any(attribute)?;
    if identifier.1 != EXTENSIONS {
        return Some(false);
    }
    let (values, _) = part(rest, SET)?;
    let (extensions, _) = part(values, SEQUENCE)?;
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
        // rfc822Name, dNSName, uniformResourceIdentifier, iPAddress.
        let counts = |tag: u8| matches!(tag & 0x1f, 1 | 2 | 6 | 7);
        return Some(elements(names).any(|(tag, _)| counts(tag)));
    }
    Some(false)
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
