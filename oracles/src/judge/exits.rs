//! Does the controller stay up once it was started again?
//!
//! Undisturbed it does: a reference in which it ends by itself stops the campaign. After a crash one exit may be its
//! way to begin afresh (it lost its lease, say), and a kubelet starts it again; one that goes on ending is in
//! CrashLoopBackOff, whatever it leaves behind.

use trace::{Event, ProcessEvent, ProcessHappening};

use crate::{
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

/// This many exits by itself after the last perturbation are a crash loop.
pub const CRASH_LOOP: usize = 3;

pub(super) fn judge(trial: &Trial) -> Verdict {
    let records = &trial.run.history.records[trial.after_last_perturbation()..];
    let mut last_words = None;
    let mut exits = Vec::new();
    for record in records {
        let Event::Process(ProcessEvent { what, .. }) = &record.event else { continue };
        match what {
            ProcessHappening::Line { text } => last_words = Some(text.clone()),
            ProcessHappening::Exited { code, signal } => {
                exits.push(match (code, signal) {
                    (Some(code), _) => format!("exit code {code}"),
                    (None, Some(signal)) => format!("signal {signal}"),
                    (None, None) => "unknown status".to_owned(),
                });
            }
            _ => {}
        }
    }
    if exits.len() < CRASH_LOOP {
        return Verdict::held(Oracle::Exits, "the controller stayed up");
    }
    let how = exits.last().map_or("", String::as_str);
    let said = last_words.map_or(String::new(), |text| format!("; it last said: {text}"));
    Verdict {
        oracle: Oracle::Exits,
        value: VerdictValue::Violated,
        title: format!("the controller exits again and again ({how})"),
        evidence: vec![Evidence::Reason {
            text: format!(
                "it exited {} times after the last perturbation ({how}){said}",
                exits.len()
            ),
        }],
        fingerprint: Fingerprint::new(Oracle::Exits, [format!("crash loop, {how}")]),
    }
}
