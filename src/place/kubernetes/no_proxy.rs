//! Hosts that are asked without the proxy of HTTPS_PROXY, as kubectl takes NO_PROXY (Go's
//! `httpproxy`).
//!
//! In: a host, and the variable's value. Out: whether it is one of them. Only computes.

use std::net::IpAddr;

/// Whether this host (a name, or an address, IPv6 ones with or without brackets) is asked without a
/// proxy. This machine always is. `no_proxy`: names, which stand for what is below them too,
/// addresses and networks (`10.0.0.0/8`), with commas between them; `*` is everything.
pub fn is_direct(host: &str, no_proxy: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    if host == "localhost" || address.is_some_and(|it| it.is_loopback()) {
        return true;
    }
    let entries = no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase());
    entries.filter(|entry| !entry.is_empty()).any(|entry| match address {
        _ if entry == "*" => true,
        Some(address) => has_address(&entry, address),
        None => has_name(&entry, &host),
    })
}

fn has_address(entry: &str, address: IpAddr) -> bool {
    match entry.split_once('/') {
        Some((network, bits)) => is_in(address, network, bits).unwrap_or(false),
        None => without_port(entry).parse::<IpAddr>() == Ok(address),
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
fn has_name(entry: &str, host: &str) -> bool {
    let entry = without_port(entry);
    let below = entry.strip_prefix("*.").or_else(|| entry.strip_prefix('.'));
    let before = host.strip_suffix(below.unwrap_or(entry));
    before.is_some_and(|it| it.ends_with('.') || (it.is_empty() && below.is_none()))
}

fn without_port(entry: &str) -> &str {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit());
    let bare = match entry.rsplit_once(':') {
        Some((host, port)) if is_port(port) && (host.ends_with(']') || !host.contains(':')) => host,
        _ => entry,
    };
    bare.trim_matches(['[', ']'])
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
            ("example.com", ".example.com", false),
            ("K8s.Example.com", "*.example.com", true),
            ("notexample.com", "example.com", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("10.1.2.3", "10.1.2.3:6443", true),
            ("10.1.2.3", "10.1.2.0/31,11.0.0.0/8", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("10.1.2.3", "10.0.0.0/33,10.0.0.0/x,fd00::/8", false),
            ("[fd00::7]", "fd00::/8", true),
            ("[fd00::7]", "[fd00::7]:6443", true),
            ("fd00::7", "fd00::7", true),
        ] {
            assert_eq!(is_direct(host, no_proxy), expected, "{host} with '{no_proxy}'");
        }
    }
}
