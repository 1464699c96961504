//! Ages as kubectl prints them.

use std::time::Duration;

use trace::Time;

/// Time from `earlier` (RFC 3339) to now; `<unknown>` for what is no time, `<invalid>` for the future.
pub(super) fn age(earlier: &str, now: Time) -> String {
    match Time::parse_rfc3339(earlier) {
        None => "<unknown>".to_owned(),
        // Two seconds of leeway, as upstream allows between clocks.
        Some(earlier) if earlier.0 > now.0 + 2_000_000_000 => "<invalid>".to_owned(),
        Some(earlier) => human_duration(now.since(earlier)),
    }
}

/// The same of a custom type's column: `<invalid>` for what is no time.
pub(super) fn date(earlier: &str, now: Time) -> String {
    match Time::parse_rfc3339(earlier) {
        None => "<invalid>".to_owned(),
        Some(_) => age(earlier, now),
    }
}

/// Kubernetes' short form of a duration: `90s`, `5m30s`, `3h5m`, `2d3h`, `400d`, `2y30d`.
pub fn human_duration(duration: Duration) -> String {
    const YEAR_DAYS: u64 = 365;
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let years = days / YEAR_DAYS;
    let with = |large: u64, mark: char, small: u64, small_mark: char| match small {
        0 => format!("{large}{mark}"),
        small => format!("{large}{mark}{small}{small_mark}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => with(days, 'd', hours % 24, 'h'),
        () if days < 2 * YEAR_DAYS => format!("{days}d"),
        () if days < 8 * YEAR_DAYS => with(years, 'y', days % YEAR_DAYS, 'd'),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (seconds, expect) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (3600, "60m"),
            (3 * 3600 + 300, "3h5m"),
            (24 * 3600, "24h"),
            (51 * 3600, "2d3h"),
            (400 * 86400, "400d"),
            (760 * 86400, "2y30d"),
            (4000 * 86400, "10y"),
        ] {
            assert_eq!(human_duration(Duration::from_secs(seconds)), expect);
        }
        assert_eq!(age("never", Time(0)), "<unknown>");
        assert_eq!(age("2026-01-01T00:00:00Z", Time(0)), "<invalid>");
    }
}
