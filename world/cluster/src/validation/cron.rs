//! What is wrong with a schedule of a CronJob, as `robfig/cron` says it (`ParseStandard`).

/// Least and greatest number of a field, and the names of its numbers.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Minute, hour, day of the month, month, day of the week.
const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: MONTHS },
    Bounds { least: 0, most: 6, names: WEEKDAYS },
];
const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Why a schedule can't be read; none if it can.
pub(super) fn problem(schedule: &str) -> Option<String> {
    let mut schedule = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let Some((_, rest)) = schedule.split_once(' ') else {
            // Upstream's parser panics.
            let why = "runtime error: slice bounds out of range";
            return Some(format!("invalid schedule format: {why}"));
        };
        schedule = rest.trim();
    }
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (found, shown) = (fields.len(), fields.join(" "));
        return Some(format!("expected exactly 5 fields, found {found}: [{shown}]"));
    }
    let mut ranges = fields.iter().zip(&FIELDS).flat_map(|(field, bounds)| {
        field.split(',').filter(|range| !range.is_empty()).map(move |range| (range, bounds))
    });
    ranges.find_map(|(range, bounds)| self::range(range, bounds).err())
}

fn descriptor(schedule: &str) -> Option<String> {
    let every = schedule.strip_prefix("@every ");
    if DESCRIPTORS.contains(&schedule) || every.is_some_and(crate::encoding::is_duration) {
        return None;
    }
    Some(match every {
        Some(text) => {
            format!("failed to parse duration {schedule}: time: invalid duration {text:?}")
        }
        None => format!("unrecognized descriptor: {schedule}"),
    })
}

/// `getRange`
fn range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = range.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (start, mut end) = match ends[..] {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [one] => {
            let one = number_or_name(one, bounds)?;
            (one, one)
        }
        [from, to] => (number_or_name(from, bounds)?, number_or_name(to, bounds)?),
        _ => {
            number_or_name(ends[0], bounds)?;
            return Err(format!("too many hyphens: {range}"));
        }
    };
    let step = match steps[..] {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                end = bounds.most;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let Bounds { least, most, .. } = bounds;
    if start < *least {
        return Err(format!("beginning of range ({start}) below minimum ({least}): {range}"));
    }
    if end > *most {
        return Err(format!("end of range ({end}) above maximum ({most}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    match step {
        0 => Err(format!("step of range should be a positive number: {range}")),
        _ => Ok(()),
    }
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let mut named = bounds.names.iter().zip(bounds.least..);
    let found = named.find(|(name, _)| text.eq_ignore_ascii_case(name));
    found.map_or_else(|| number(text), |(_, number)| Ok(number))
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_refused_in_the_librarys_words() {
        for good in ["@daily", "@every 1h30m", "*/5 0-6 1,15 JAN sun-fri/2", "TZ=UTC 0 * * * ?"] {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, why) in [
            ("a b", "expected exactly 5 fields, found 2: [a b]"),
            ("@often", "unrecognized descriptor: @often"),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("*/1/2 * * * *", "too many slashes: */1/2"),
            (
                "* x * * *",
                "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
        ] {
            assert_eq!(problem(bad).as_deref(), Some(why), "{bad}");
        }
    }
}
