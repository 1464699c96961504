//! A moment of the world's own clock.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Nanoseconds since the Unix epoch *by the world's clock*, which stands still while anything works and
/// moves only when all is quiet (design §1.5). It is no reading of the machine's clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Whole seconds since the epoch, rounded down.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// This moment plus `duration`.
    pub fn plus(self, duration: Duration) -> Time {
        let nanos = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(nanos))
    }

    /// Time from `earlier` to this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// `metav1.Time`: RFC 3339 in whole seconds, UTC.
    pub fn rfc3339(self) -> String {
        self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// `metav1.MicroTime`: RFC 3339 with six decimals, UTC.
    pub fn rfc3339_micro(self) -> String {
        self.timestamp().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
    }

    /// Reads RFC 3339 with any number of decimals; `None` for anything else.
    pub fn parse_rfc3339(text: &str) -> Option<Time> {
        let bytes = text.as_bytes();
        let shape = bytes.len() >= 20 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[10] == b'T';
        let stamp: jiff::Timestamp = shape.then(|| text.parse().ok()).flatten()?;
        i64::try_from(stamp.as_nanosecond()).ok().map(Time)
    }

    fn timestamp(self) -> jiff::Timestamp {
        jiff::Timestamp::from_nanosecond(i128::from(self.0)).expect("i64 nanoseconds are in range")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339_micro())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_text() {
        let time = Time(1_767_225_600_123_456_000);
        assert_eq!(time.rfc3339(), "2026-01-01T00:00:00Z");
        assert_eq!(time.rfc3339_micro(), "2026-01-01T00:00:00.123456Z");
        assert_eq!(Time::parse_rfc3339(&time.rfc3339_micro()), Some(time));
        for text in ["", "2026", "2026-01-01", "aaaa-aa-aaTaa:aa:aaZ"] {
            assert_eq!(Time::parse_rfc3339(text), None);
        }
    }
}
