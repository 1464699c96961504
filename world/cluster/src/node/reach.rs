//! Where the API server looks for a kubelet, and what comes of it where nobody answers there
//! (`NodeConnectionInfoGetter` in `pkg/kubelet/client`; the errors are those of Go's dialer).
//!
//! Nothing is dialled here: a kubelet is there or is not, by what the world says. Where kubelets run, names of nodes
//! lead to their addresses; where none do, a name leads nowhere.

use std::net::IpAddr;

use serde_json::Value;

use crate::status::Refusal;

/// Where kubelets listen whose node does not say.
const KUBELET_PORT: u64 = 10250;
/// Which address of a node is taken (`--kubelet-preferred-address-types`).
const PREFERRED: [&str; 5] = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/// Where a kubelet would listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    host: String,
    port: u64,
    /// Where the host's name leads.
    address: Option<IpAddr>,
}

impl Place {
    /// Where the kubelet of this node would; `named` says whether names of nodes lead anywhere.
    ///
    /// Errors: 500 for a node without an address.
    pub(crate) fn of(node: &Value, named: bool) -> Result<Place, Refusal> {
        let addresses = || node["status"]["addresses"].as_array().into_iter().flatten();
        let first = |kind: &str| {
            addresses().find(|one| one["type"] == kind).and_then(|one| one["address"].as_str())
        };
        let Some(host) = PREFERRED.into_iter().find_map(first) else {
            let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
            let known =
                |one: &Value| format!("{{{} {}}}", text(&one["type"]), text(&one["address"]));
            let known: Vec<String> = addresses().map(known).collect();
            return Err(Refusal::unclassified(format!(
                "no preferred addresses found; known addresses: [{}]",
                known.join(" ")
            )));
        };
        let own = || -> Option<IpAddr> { first("InternalIP").filter(|_| named)?.parse().ok() };
        let port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64();
        Ok(Place {
            host: host.to_owned(),
            port: port.filter(|port| *port > 0).unwrap_or(KUBELET_PORT),
            address: host.parse().ok().or_else(own),
        })
    }

    /// The URL of a path there.
    pub(crate) fn url(&self, path: &str, query: &[(&str, String)]) -> String {
        let mark = if query.is_empty() { "" } else { "?" };
        format!("https://{}:{}{path}{mark}{}", bracketed(&self.host), self.port, encoded(query))
    }

    /// What a dialer says, since nobody listens there.
    pub(crate) fn refused(&self) -> String {
        match &self.address {
            Some(address) => {
                let address = bracketed(&address.to_string());
                format!("dial tcp {address}:{}: connect: connection refused", self.port)
            }
            None => format!("dial tcp: lookup {}: no such host", self.host),
        }
    }
}

/// `net.JoinHostPort`'s host.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// `url.Values.Encode`.
fn encoded(query: &[(&str, String)]) -> String {
    let mut pairs: Vec<&(&str, String)> = query.iter().collect();
    pairs.sort_by_key(|(name, _)| *name);
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// `url.QueryEscape`.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(addresses: Value) -> Value {
        json!({"status": {"addresses": addresses}})
    }

    #[test]
    fn nobody_listens_at_the_preferred_address() {
        let check = |addresses: Value, named: bool, url: &str, refused: &str| {
            let place = Place::of(&node(addresses), named).expect("a place");
            assert_eq!(place.url("/a", &[]), url);
            assert_eq!(place.refused(), refused);
        };
        let ip = || json!({"type": "InternalIP", "address": "10.0.0.1"});
        let name = || json!({"type": "Hostname", "address": "n"});
        let at_ip = "dial tcp 10.0.0.1:10250: connect: connection refused";
        check(json!([ip()]), false, "https://10.0.0.1:10250/a", at_ip);
        check(json!([ip(), name()]), true, "https://n:10250/a", at_ip);
        let nowhere = "dial tcp: lookup n: no such host";
        check(json!([ip(), name()]), false, "https://n:10250/a", nowhere);
        check(json!([name()]), true, "https://n:10250/a", nowhere);
        let six = json!([{"type": "InternalIP", "address": "fd00::1"}]);
        let at_six = "dial tcp [fd00::1]:10250: connect: connection refused";
        check(six, false, "https://[fd00::1]:10250/a", at_six);
    }

    #[test]
    fn a_node_may_have_no_address_and_another_port() {
        let message = |addresses: Value| {
            Place::of(&node(addresses), false).map_err(|refusal| refusal.message)
        };
        let none = "no preferred addresses found; known addresses: ";
        assert_eq!(message(json!([])), Err(format!("{none}[]")));
        let other = json!([{"type": "a", "address": "b"}, {"type": "c", "address": "d"}]);
        assert_eq!(message(other), Err(format!("{none}[{{a b}} {{c d}}]")));
        let mut other = node(json!([{"type": "InternalIP", "address": "1.2.3.4"}]));
        other["status"]["daemonEndpoints"] = json!({"kubeletEndpoint": {"Port": 1}});
        let place = Place::of(&other, false).expect("a place");
        assert_eq!(place.refused(), "dial tcp 1.2.3.4:1: connect: connection refused");
    }

    #[test]
    fn queries_are_encoded_as_by_go() {
        let query = [("b", "a b&é".to_owned()), ("a", "1".to_owned()), ("b", "~*".to_owned())];
        assert_eq!(encoded(&query), "a=1&b=a+b%26%C3%A9&b=~%2A");
    }
}
