//! Where a name leads, whether load may be sent there, and where a server listens.
//!
//! In: a URL. Out: addresses. Sends no request.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::LoadVerbError;
use crate::plan::traffic::Url;

/// All addresses of the URL's host.
///
/// # Errors
/// The name is not known, or one of them is public without that being allowed.
pub fn addresses(url: &Url, allows_public: bool) -> Result<Vec<SocketAddr>, LoadVerbError> {
    let host = url.host.clone();
    let mut addresses: Vec<SocketAddr> = match (url.host.as_str(), url.port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(source) => return Err(LoadVerbError::Resolve { host, source }),
    };
    addresses.dedup();
    match addresses.iter().map(SocketAddr::ip).find(|ip| is_public(*ip)) {
        Some(address) if !allows_public => Err(LoadVerbError::PublicAddress { host, address }),
        _ => Ok(addresses),
    }
}

/// Anything that is not this machine, a private network or a single link.
pub fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            // 100.64.0.0/10 is shared behind a provider's translation, as overlay networks use it.
            let is_shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 0x40;
            let is_near = ip.is_loopback() || ip.is_private() || ip.is_link_local();
            !(is_near || is_shared || ip.is_unspecified())
        }
        IpAddr::V6(ip) => {
            let is_near = ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local();
            !(is_near || ip.is_unspecified())
        }
    }
}

/// Of several addresses, those where a server listens: `localhost` is often two, and most servers
/// listen on one. All of them when none answers, so that the load shows how it fails.
pub fn reachable(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    const PATIENCE: Duration = Duration::from_secs(1);
    if addresses.len() < 2 {
        return addresses;
    }
    let answers = |address: &SocketAddr| TcpStream::connect_timeout(address, PATIENCE).is_ok();
    let found: Vec<SocketAddr> = addresses.iter().copied().filter(answers).collect();
    if found.is_empty() { addresses } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_told_from_private_ones() {
        for ip in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2001:4860::8888", "::ffff:1.1.1.1"] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "127.9.9.9",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
    }
}
