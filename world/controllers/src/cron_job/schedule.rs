//! Schedules of CronJobs, as `robfig/cron` reads them (`ParseStandard`): five fields, or `@daily` and its like, or
//! `@every 1h`; in a time zone.
//!
//! Day of month and day of week are both asked where one of them is `*`, else one suffices. Times are looked for
//! among moments, not among readings of a clock on the wall: what a change to summer time skips does not happen, what
//! the change back repeats happens twice, as upstream.

use std::time::Duration;

use jiff::{
    Timestamp, ToSpan, Zoned,
    tz::{TimeZone, TimeZoneDatabase},
};
use trace::Time;

/// A schedule that names no time within so many days has none.
const DAYS_LOOKED_AT: u32 = 5 * 366;

/// A schedule.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    times: Times,
    zone: TimeZone,
}

#[derive(Debug, Clone)]
enum Times {
    Every(Duration),
    /// Bits of the numbers that match.
    Fields {
        minute: u64,
        hour: u64,
        day: u64,
        month: u64,
        weekday: u64,
        both_days: bool,
    },
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// None for what is no schedule, or in no time zone that is known.
    pub(super) fn parse(text: &str, zone: Option<&str>) -> Option<Schedule> {
        let zone = match zone {
            None | Some("" | "UTC") => TimeZone::UTC,
            Some(name) => TimeZoneDatabase::bundled().get(name).ok()?,
        };
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        if let Some(text) = text.strip_prefix("@every ") {
            let every = duration(text)?.max(Duration::from_secs(1));
            let every = Duration::from_secs(every.as_secs());
            return Some(Schedule { times: Times::Every(every), zone });
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else { return None };
        let (day, any_day) = field(day, (1, 31), &[])?;
        let (weekday, any_weekday) = field(weekday, (0, 6), &WEEKDAYS)?;
        let times = Times::Fields {
            minute: field(minute, (0, 59), &[])?.0,
            hour: field(hour, (0, 23), &[])?.0,
            day,
            month: field(month, (1, 12), &MONTHS)?.0,
            weekday,
            both_days: any_day || any_weekday,
        };
        Some(Schedule { times, zone })
    }

    /// The first time after this moment.
    pub(super) fn next(&self, after: Time) -> Option<Time> {
        let (minutes, hours, days) = match &self.times {
            // Upstream rounds down to whole seconds.
            Times::Every(every) => {
                return Some(Time(after.seconds() * 1_000_000_000).plus(*every));
            }
            Times::Fields { minute, hour, .. } => (*minute, *hour, DAYS_LOOKED_AT),
        };
        let start = after.seconds().div_euclid(60) * 60 + 60;
        let mut at = Timestamp::from_second(start).ok()?.to_zoned(self.zone.clone());
        let has = |bits: u64, number: i8| bits >> number & 1 == 1;
        let mut seen = 0;
        while seen < days {
            if !self.has_day(&at) {
                at = at.tomorrow().ok()?.start_of_day().ok()?;
                seen += 1;
            } else if !has(hours, at.hour()) {
                let rest = 60 - i64::from(at.minute());
                let day = at.date();
                at = at.checked_add(rest.minutes()).ok()?;
                seen += u32::from(at.date() != day);
            } else if !has(minutes, at.minute()) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(Time(at.timestamp().as_second() * 1_000_000_000));
            }
        }
        None
    }

    fn has_day(&self, at: &Zoned) -> bool {
        let Times::Fields { day, month, weekday, both_days, .. } = &self.times else {
            return true;
        };
        let of_month = day >> at.day() & 1 == 1;
        let of_week = weekday >> at.weekday().to_sunday_zero_offset() & 1 == 1;
        let fits = if *both_days { of_month && of_week } else { of_month || of_week };
        month >> at.month() & 1 == 1 && fits
    }

    /// The last time after `from` that is not after `until`. As upstream, found by the distance of the first two
    /// times where there are many.
    pub(super) fn last_until(&self, from: Time, until: Time) -> Option<Time> {
        let first = self.next(from).filter(|first| *first <= until)?;
        let Some(second) = self.next(first).filter(|second| *second <= until) else {
            return Some(first);
        };
        let distance = (second.since(first).as_secs()).max(1);
        let missed = until.since(first).as_secs() / distance + 1;
        let skipped = Duration::from_secs(missed.saturating_sub(2).saturating_mul(distance));
        let (mut last, mut next) = (None, self.next(first.plus(skipped)));
        while let Some(at) = next.filter(|at| *at <= until) {
            last = Some(at);
            next = self.next(at);
        }
        last
    }

    /// A moment in the schedule's zone, in RFC 3339.
    pub(super) fn local(&self, at: Time) -> String {
        let Ok(stamp) = Timestamp::from_second(at.seconds()) else { return at.rfc3339() };
        let zoned = stamp.to_zoned(self.zone.clone());
        match zoned.offset().seconds() {
            0 => at.rfc3339(),
            _ => zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        }
    }
}

/// The bits of a field, and whether it is `*`.
fn field(text: &str, bounds: (u32, u32), names: &[&str]) -> Option<(u64, bool)> {
    let (mut bits, mut any) = (0, false);
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|n| *n > 0)?)),
            None => (part, None),
        };
        let number = |text: &str| {
            let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
            let named = named.map(|at| at as u32 + bounds.0);
            named.or_else(|| text.parse::<u32>().ok())
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" || range == "?" => {
                any |= step.is_none_or(|step| step == 1);
                bounds
            }
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, if step.is_some() { bounds.1 } else { number(range)? }),
        };
        if first < bounds.0 || last > bounds.1 || first > last {
            return None;
        }
        for number in (first..=last).step_by(step.unwrap_or(1) as usize) {
            bits |= 1u64 << number;
        }
    }
    Some((bits, any))
}

/// Go's durations, whole numbers of h, m and s.
fn duration(text: &str) -> Option<Duration> {
    let (mut seconds, mut rest) = (0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let unit = match after.as_bytes().first()? {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        seconds += number.parse::<u64>().ok()?.checked_mul(unit)?;
        rest = &after[1..];
    }
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time() {
        let check = |schedule: &str, zone: Option<&str>, after: &str, expect: Option<&str>| {
            let parsed = Schedule::parse(schedule, zone).expect(schedule);
            let next = parsed.next(Time::parse_rfc3339(after).unwrap());
            assert_eq!(next.map(Time::rfc3339).as_deref(), expect, "{schedule}");
        };
        let new_year = "2026-01-01T00:00:00Z";
        check("*/15 * * * *", None, new_year, Some("2026-01-01T00:15:00Z"));
        check("5/15 * * * *", None, new_year, Some("2026-01-01T00:05:00Z"));
        check("0 0 1 1 *", None, new_year, Some("2027-01-01T00:00:00Z"));
        check("@hourly", None, "2026-01-01T00:59:59Z", Some("2026-01-01T01:00:00Z"));
        check("@every 90s", None, new_year, Some("2026-01-01T00:01:30Z"));
        check("30 4 * feb mon-wed", None, new_year, Some("2026-02-02T04:30:00Z"));
        // Both days given: either will do. The 2nd of January 2026 is a Friday.
        check("0 0 13 * fri", None, new_year, Some("2026-01-02T00:00:00Z"));
        check("0 0 */2 * fri", None, new_year, Some("2026-01-02T00:00:00Z"));
        check("0 0 30 2 *", None, new_year, None);
        let berlin = Some("Europe/Berlin");
        check("0 3 * * *", berlin, new_year, Some("2026-01-01T02:00:00Z"));
        // Half past two is skipped in spring and comes twice in autumn.
        check("30 2 * * *", berlin, "2026-03-28T12:00:00Z", Some("2026-03-30T00:30:00Z"));
        check("30 2 * * *", berlin, "2026-10-25T00:30:00Z", Some("2026-10-25T01:30:00Z"));
    }

    #[test]
    fn what_is_no_schedule() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* * * * 7",
            "a * * * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "@never",
            "@every x",
        ] {
            assert!(Schedule::parse(text, None).is_none(), "{text}");
        }
        assert!(Schedule::parse("@daily", Some("Nowhere/Land")).is_none());
    }

    #[test]
    fn the_last_time_until_now() {
        let check = |schedule: &str, from: &str, until: &str, expect: Option<&str>| {
            let time = |text: &str| Time::parse_rfc3339(text).unwrap();
            let found =
                Schedule::parse(schedule, None).unwrap().last_until(time(from), time(until));
            assert_eq!(found.map(Time::rfc3339).as_deref(), expect, "{schedule}");
        };
        let (from, none) = ("2026-01-01T00:00:00Z", None);
        check("@hourly", from, "2026-01-01T00:59:59Z", none);
        check("@hourly", from, "2026-01-01T01:30:00Z", Some("2026-01-01T01:00:00Z"));
        check("@hourly", from, "2026-03-01T01:30:00Z", Some("2026-03-01T01:00:00Z"));
        check("0 9-10 * * *", from, "2026-01-05T09:30:00Z", Some("2026-01-05T09:00:00Z"));
    }
}
