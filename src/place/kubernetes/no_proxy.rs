//! Hosts that are asked without the proxy of HTTPS_PROXY, as kubectl takes NO_PROXY (Go's
//! `httpproxy`).
//!
//! In: a host with its port, and the variable's value. Out: whether it is one of them. Only
//! computes.

use std::net::IpAddr;

/// The list that counts: that of NO_PROXY, or where it is empty or not set, of `no_proxy`. `of`: a
/// variable's value.
pub fn list(of: impl Fn(&str) -> Option<String>) -> String {
    let set = ["NO_PROXY", "no_proxy"].into_iter().filter_map(of).find(|list| !list.is_empty());
    set.unwrap_or_default()
}

/// Whether this host (a name, or an address, IPv6 ones with or without brackets) is asked at this
/// port without a proxy. This machine always is. `no_proxy`: names, which stand for what is below
/// them too, addresses, both at one port alone where it is named (`example.com:6443`), and networks
/// (`10.0.0.0/8`), with commas between them; `*` is everything.
pub fn is_direct((host, port): (&str, u16), no_proxy: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    if host == "localhost" || address.is_some_and(|it| it.is_loopback()) {
        return true;
    }
    let entries = no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase());
    entries.filter(|entry| !entry.is_empty()).any(|entry| match address {
        _ if entry == "*" => true,
        Some(address) => has_address(&entry, (address, port)),
        None => has_name(&entry, (host.as_str(), port)),
    })
}

fn has_address(entry: &str, (address, port): (IpAddr, u16)) -> bool {
    match entry.split_once('/') {
        Some((network, bits)) => is_in(address, network, bits).unwrap_or(false),
        None => host_at(entry, port).is_some_and(|it| it.parse::<IpAddr>() == Ok(address)),
    }
}

/// `None`: it is no network.
fn is_in(address: IpAddr, network: &str, bits: &str) -> Option<bool> {
    let number = |it: IpAddr| match it {
        IpAddr::V4(it) => (u128::from(it.to_bits()), 32),
        IpAddr::V6(it) => (it.to_bits(), 128),
    };
    let ((address, width), (network, of)) = (number(address), number(network.parse().ok()?));
    let below = u32::checked_sub(width, bits.parse().ok()?)?;
    Some(width == of && (address ^ network).checked_shr(below).unwrap_or(0) == 0)
}

/// `.example.com` and `*.example.com` are what is below that name alone.
fn has_name(entry: &str, (host, port): (&str, u16)) -> bool {
    let Some(entry) = host_at(entry, port) else { return false };
    let below = entry.strip_prefix("*.").or_else(|| entry.strip_prefix('.'));
    let before = host.strip_suffix(below.unwrap_or(entry));
    before.is_some_and(|it| it.ends_with('.') || (it.is_empty() && below.is_none()))
}

/// The host of an entry; `None`: the entry is of another port than this.
fn host_at(entry: &str, port: u16) -> Option<&str> {
    let (host, only) = match entry.rsplit_once(':') {
        Some((host, only)) if host.ends_with(']') || !host.contains(':') => (host, only),
        _ => (entry, ""),
    };
    let is_of_port = only.is_empty() || only.parse::<u16>() == Ok(port);
    is_of_port.then(|| host.trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_asked_directly_as_kubectl_does() {
        for (host, no_proxy, expected) in [
            ("127.0.0.1", "", true),
            ("[::1]", "", true),
            ("localhost", "", true),
            ("k8s.example.com", "", false),
            ("k8s.example.com", "*", true),
            ("k8s.example.com", "internal, example.com", true),
            ("example.com", "example.com:6443", true),
            ("example.com", "example.com:", true),
            ("example.com", "example.com:443", false),
            ("example.com", "example.com:https", false),
            ("k8s.example.com", ".example.com:6443", true),
            ("k8s.example.com", ".example.com:443", false),
            ("k8s.example.com", ":6443", false),
            ("example.com", ".example.com", false),
            ("K8s.Example.com", "*.example.com", true),
            ("notexample.com", "example.com", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("10.1.2.3", "10.1.2.3:6443", true),
            ("10.1.2.3", "10.1.2.3:443", false),
            ("10.1.2.3", "10.1.2.0/31,11.0.0.0/8", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("10.1.2.3", "10.0.0.0/33,10.0.0.0/x,fd00::/8", false),
            ("[fd00::7]", "fd00::/8", true),
            ("[fd00::7]", "[fd00::7]:6443", true),
            ("[fd00::7]", "[fd00::7]:443", false),
            ("[fd00::7]", "[fd00::7]", true),
            ("fd00::7", "fd00::7", true),
        ] {
            let is_direct = is_direct((host, 6443), no_proxy);
            assert_eq!(is_direct, expected, "{host} with '{no_proxy}'");
        }
    }

    #[test]
    fn an_empty_list_does_not_hide_the_other_one() {
        for (upper, lower, expected) in [
            (Some("a"), Some("b"), "a"),
            (Some(""), Some("b"), "b"),
            (None, Some("b"), "b"),
            (Some(""), None, ""),
            (None, None, ""),
        ] {
            let of = |name: &str| if name == "NO_PROXY" { upper } else { lower };
            assert_eq!(list(|name| of(name).map(str::to_string)), expected);
        }
    }
}
