//! What one request knows of the webhooks that it meets, from run to run.

use serde_json::Value;
use trace::Time;

use super::{WebhookAnswer, WebhookCall, post};
use crate::status::Refusal;

/// One request's calls. See the module's parent.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Whether it meets no webhook.
    exempt: bool,
    /// Calls that were made, in the order in which a run needs them.
    recorded: Vec<Recorded>,
    /// How many of them this run has used.
    used: usize,
    /// Calls whose answers hold wherever the same is asked again, such as conversions.
    lasting: Vec<Recorded>,
    /// Calls that this run needs and that were not made.
    wanted: Vec<Wanted>,
    /// What the first run drew, in order, and how much of it this run has used.
    drawn: Vec<String>,
    draws: usize,
    /// The time of all runs.
    began: Option<Time>,
}

/// A call that has to be made.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// What is asked, without what differs from one asking to the next.
    question: Value,
    /// The call; or why it can't be made.
    pub(crate) call: Result<WebhookCall, String>,
    /// The uid that the reply must bear.
    uid: String,
    /// Whether its answer holds for the whole request.
    is_lasting: bool,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// The uid that the reply must bear.
    pub(crate) uid: String,
    /// It; or why there is none, in Go's words.
    pub(crate) answer: Result<WebhookAnswer, String>,
}

/// A call that was made, and what came of it: the answer, or why there is none.
pub(crate) type Made = (Wanted, Result<WebhookAnswer, String>);

#[derive(Debug)]
struct Recorded {
    question: Value,
    asked: Asked,
}

impl Wanted {
    fn new(question: Value, call: Result<WebhookCall, String>, uid: String) -> Wanted {
        Wanted { question, call, uid, is_lasting: false }
    }

    /// A call whose answer holds wherever the same is asked again within the request.
    pub(crate) fn lasting(
        question: Value,
        call: Result<WebhookCall, String>,
        uid: String,
    ) -> Wanted {
        Wanted { is_lasting: true, ..Wanted::new(question, call, uid) }
    }

    /// What comes of it where nobody listens.
    pub(crate) fn unanswered(&self) -> Result<WebhookAnswer, String> {
        let call = self.call.clone()?;
        Err(post(&call.url, &call.destination.refused()))
    }

    /// It, and what comes of it where nobody listens.
    pub(crate) fn refused(self) -> Asked {
        Asked { answer: self.unanswered(), uid: self.uid }
    }
}

impl Calls {
    /// Of a request that meets no webhook, sent at this time.
    pub(crate) fn exempt(now: Time) -> Calls {
        Calls { exempt: true, began: Some(now), ..Calls::default() }
    }

    /// Whether it meets webhooks at all.
    pub(crate) fn are_made(&self) -> bool {
        !self.exempt
    }

    /// Begins a run.
    pub(crate) fn begin(&mut self, now: Time) {
        (self.used, self.draws) = (0, 0);
        self.began.get_or_insert(now);
    }

    /// When the first run began.
    pub(crate) fn began(&self) -> Time {
        self.began.unwrap_or_default()
    }

    /// What the first run drew at this place, or a draw.
    pub(crate) fn draw(&mut self, make: impl FnOnce() -> String) -> String {
        if self.draws == self.drawn.len() {
            self.drawn.push(make());
        }
        self.draws += 1;
        self.drawn[self.draws - 1].clone()
    }

    /// What came of a call, if it was made; else it is wanted, with its uid, which `make` gives it.
    pub(crate) fn ask(
        &mut self,
        question: Value,
        make: impl FnOnce() -> (Result<WebhookCall, String>, String),
    ) -> Option<Asked> {
        if let Some(found) = self.recorded.get(self.used)
            && found.question == question
        {
            self.used += 1;
            return Some(found.asked.clone());
        }
        // The world has moved on: what was asked from here on does not count any more.
        self.recorded.truncate(self.used);
        let (call, uid) = make();
        self.wanted.push(Wanted::new(question, call, uid));
        None
    }

    /// What came of a call whose answer holds for the whole request, if it was made; else it is wanted, as `make`
    /// gives it.
    pub(crate) fn ask_lasting(
        &mut self,
        question: &Value,
        make: impl FnOnce() -> Wanted,
    ) -> Option<Asked> {
        if let Some(found) = self.lasting.iter().find(|known| known.question == *question) {
            return Some(found.asked.clone());
        }
        if !self.wanted.iter().any(|wanted| wanted.is_lasting && wanted.question == *question) {
            self.wanted.push(make());
        }
        None
    }

    /// Whether the run can't go on without calls.
    pub(crate) fn is_wanting(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// The calls that have to be made before the next run.
    pub(crate) fn take_wanted(&mut self) -> Vec<Wanted> {
        std::mem::take(&mut self.wanted)
    }

    /// Keeps what came of the calls that were wanted.
    pub(crate) fn record(&mut self, made: Vec<Made>) {
        for (wanted, answer) in made {
            let kept = if wanted.is_lasting { &mut self.lasting } else { &mut self.recorded };
            let asked = Asked { uid: wanted.uid, answer };
            kept.push(Recorded { question: wanted.question, asked });
        }
    }

    /// What a run returns that can't go on. Nobody gets to see it: the run is repeated.
    pub(crate) fn stopped() -> Refusal {
        Refusal::internal("webhooks have to be called first")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(calls: &mut Calls, question: &str) -> Option<Asked> {
        calls.ask(json!(question), || (Err("nowhere".to_owned()), "u".to_owned()))
    }

    fn answer(calls: &mut Calls, text: &str) {
        let made = calls.take_wanted().into_iter().map(|wanted| (wanted, Err(text.to_owned())));
        let made = made.collect();
        calls.record(made);
        calls.begin(Time(9));
    }

    #[test]
    fn a_reply_counts_for_the_question_that_it_answers() {
        let mut calls = Calls::default();
        calls.begin(Time(1));
        assert_eq!(calls.draw(|| "a".to_owned()), "a");
        assert_eq!(ask(&mut calls, "one"), None);
        assert!(calls.is_wanting());
        answer(&mut calls, "first");
        assert_eq!(calls.draw(|| "b".to_owned()), "a", "what was drawn stays");
        assert_eq!(calls.began(), Time(1));
        assert_eq!(ask(&mut calls, "one").unwrap().answer, Err("first".to_owned()));
        assert_eq!(ask(&mut calls, "two"), None);
        answer(&mut calls, "second");
        assert_eq!(ask(&mut calls, "another"), None, "the world has moved on");
        answer(&mut calls, "third");
        assert_eq!(ask(&mut calls, "another").unwrap().answer, Err("third".to_owned()));
        assert_eq!(ask(&mut calls, "two"), None, "what followed does not count any more");
    }

    #[test]
    fn a_lasting_reply_counts_wherever_the_same_is_asked() {
        let mut calls = Calls::default();
        let convert = |calls: &mut Calls, text: &str| {
            let make = || Wanted::lasting(json!(text), Err("nowhere".to_owned()), "u".to_owned());
            calls.ask_lasting(&json!(text), make).map(|asked| asked.answer)
        };
        calls.begin(Time(1));
        assert_eq!(convert(&mut calls, "a"), None);
        assert_eq!(convert(&mut calls, "a"), None);
        assert_eq!(ask(&mut calls, "one"), None);
        assert_eq!(calls.wanted.len(), 2, "the same is asked once");
        answer(&mut calls, "first");
        assert_eq!(convert(&mut calls, "b"), None);
        assert_eq!(convert(&mut calls, "a"), Some(Err("first".to_owned())));
        assert_eq!(ask(&mut calls, "one").unwrap().answer, Err("first".to_owned()));
        answer(&mut calls, "second");
        assert_eq!(convert(&mut calls, "a"), Some(Err("first".to_owned())));
        assert_eq!(convert(&mut calls, "b"), Some(Err("second".to_owned())));
    }
}
