//! Who is asked once more because something changed after them (`reinvocationPolicy: IfNeeded`): a chain of two rounds,
//! in which policies and webhooks keep their own books (`admission/reinvocation.go`, `reinvocationcontext.go`).

use std::collections::BTreeSet;

use serde_json::Value;

/// The rounds of one write.
#[derive(Debug, Default)]
pub(crate) struct Again {
    is_second: bool,
    due: bool,
    pub(crate) policies: Books,
    pub(crate) hooks: Books,
}

/// Of one plug-in.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Those that were asked and want to hear of later changes.
    asked: BTreeSet<String>,
    /// Those to ask in the second round.
    wanted: BTreeSet<String>,
    /// What the first round made of the object.
    output: Value,
}

impl Again {
    /// Whether there has to be a second round.
    pub(crate) fn is_due(&self) -> bool {
        self.due && !self.is_second
    }

    /// Begins it.
    pub(crate) fn begin(&mut self) {
        self.is_second = true;
    }

    pub(crate) fn is_second(&self) -> bool {
        self.is_second
    }

    /// Notes a change: there has to be a second round.
    pub(crate) fn require(&mut self) {
        self.due = true;
    }
}

impl Books {
    /// A second round begins for it, with the object as others have left it.
    pub(crate) fn reopen(&mut self, object: &Value) {
        if self.output != *object {
            self.changed();
        }
    }

    /// A round ends for it.
    pub(crate) fn close(&mut self, object: Value) {
        self.output = object;
    }

    /// Something has changed: all who were asked so far are to see it.
    pub(crate) fn changed(&mut self) {
        self.wanted.append(&mut self.asked);
    }

    /// Somebody was asked who wants to hear of later changes.
    pub(crate) fn remember(&mut self, who: String) {
        self.asked.insert(who);
    }

    pub(crate) fn wants(&self, who: &str) -> bool {
        self.wanted.contains(who)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_later_change_is_shown_to_those_before_it() {
        let mut books = Books::default();
        books.remember("a".to_owned());
        books.changed();
        books.remember("b".to_owned());
        books.close(json!(1));
        books.reopen(&json!(1));
        assert!(books.wants("a") && !books.wants("b"));
        books.reopen(&json!(2));
        assert!(books.wants("b"));
    }
}
