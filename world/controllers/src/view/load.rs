//! What the pods on a node ask for together.

use crate::{
    pod::Pod,
    resources::{Resources, Usual},
};

/// What the pods on a node that have not ended ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Load {
    /// How many they are.
    pub(crate) pods: usize,
    /// What must be free for them.
    pub(crate) requested: Resources,
    /// The same as scores count it.
    pub(crate) usual: Usual,
}

impl Load {
    pub(crate) fn add(&mut self, pod: &Pod) {
        self.pods += 1;
        self.requested.add(&pod.requests.all);
        self.usual.cpu_milli += pod.requests.counted.cpu_milli;
        self.usual.memory_bytes += pod.requests.counted.memory_bytes;
    }

    pub(crate) fn remove(&mut self, pod: &Pod) {
        self.pods -= 1;
        self.requested.remove(&pod.requests.all);
        self.usual.cpu_milli -= pod.requests.counted.cpu_milli;
        self.usual.memory_bytes -= pod.requests.counted.memory_bytes;
    }
}
