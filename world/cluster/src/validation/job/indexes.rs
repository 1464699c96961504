//! Indexes of an indexed Job as text: `1,3-5,7`.

/// One interval, both ends included.
type Interval = (i64, i64);

/// How many indexes a text names (`validateIndexesFormat`). Errors: what upstream says of it.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for part in text.split(',') {
        let (from, to) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

/// The first index that is in both, among the intervals that can be read (`validateFailedIndexesNotOverlapCompleted`).
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<Interval> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let failed = read(failed);
    let common = |one: &Interval| -> Option<i64> {
        let other = failed.iter().find(|other| one.0 <= other.1 && other.0 <= one.1)?;
        Some(one.0.max(other.0))
    };
    read(completed).iter().find_map(common)
}

/// `parseIndexInterval`
fn interval(text: &str, completions: i64) -> Result<Interval, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let (from, to) = match parts[..] {
        [one] => (one, None),
        [from, to] => (from, Some(to)),
        _ => {
            return Err(format!(
                "the fragment {text:?} violates the requirement that an index interval can have at most two parts \
                 separated by '-'"
            ));
        }
    };
    let from = index(from, completions)?;
    let Some(to) = to else { return Ok((from, from)) };
    let to = index(to, completions)?;
    if from >= to {
        return Err(format!("non-increasing order, previous: {from}, current: {to}"));
    }
    Ok((from, to))
}

fn index(text: &str, completions: i64) -> Result<i64, String> {
    match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_upstream_reads_them() {
        assert_eq!(count("", 3), Ok(0));
        assert_eq!(count("0,2-4,6", 7), Ok(5));
        for (text, why) in [
            ("3", "too large index: \"3\""),
            ("0-1-2", "the fragment \"0-1-2\" violates"),
            ("x", "cannot convert string to integer for index: \"x\""),
            ("1-0", "non-increasing order, previous: 1, current: 0"),
            ("1,0", "non-increasing order, previous: 1, current: 0"),
        ] {
            let found = count(text, 3).expect_err(text);
            assert!(found.starts_with(why), "{found}");
        }
    }

    #[test]
    fn what_overlaps_is_found_among_what_can_be_read() {
        assert_eq!(overlap("0,2-4", "1,4-5", 9), Some(4));
        assert_eq!(overlap("0,x,3", "1,3", 9), Some(3));
        assert_eq!(overlap("0-1", "2", 9), None);
    }
}
