//! Where a name leads, whether load may be sent there, and where a server listens.
//!
//! In: a URL. Out: addresses. Sends no request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::LoadVerbError;
use crate::plan::traffic::Url;

/// All addresses of the URL's host.
///
/// # Errors
/// The name is not known, one of them is public without that being allowed, or gives away a cloud
/// machine's credentials.
pub fn addresses(url: &Url, allows_public: bool) -> Result<Vec<SocketAddr>, LoadVerbError> {
    let host = url.host.clone();
    let mut addresses: Vec<SocketAddr> = match (url.host.as_str(), url.port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(source) => return Err(LoadVerbError::Resolve { host, source }),
    };
    addresses.dedup();
    let found =
        |is_it: fn(IpAddr) -> bool| addresses.iter().map(SocketAddr::ip).find(|ip| is_it(*ip));
    if let Some(address) = found(is_of_metadata) {
        return Err(LoadVerbError::MetadataAddress { host, address });
    }
    match found(is_public) {
        Some(address) if !allows_public => Err(LoadVerbError::PublicAddress { host, address }),
        _ => Ok(addresses),
    }
}

/// Where a cloud tells a machine, a task or a pod its credentials: no server to be loaded.
///
/// Amazon's, Google's and Azure's machines, Amazon's of IPv6, its tasks (ECS) and pods (EKS), and
/// Alibaba's machines, by their documentation.
pub fn is_of_metadata(ip: IpAddr) -> bool {
    const METADATA: [IpAddr; 6] = [
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    ];
    METADATA.contains(&ip.to_canonical())
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
    fn no_cloud_is_asked_for_its_credentials_even_where_public_addresses_are_allowed() {
        for host in
            ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "169.254.170.2"]
        {
            let url = Url::parse(&format!("http://{host}/latest/meta-data/")).unwrap();
            let refused = addresses(&url, true);
            assert!(matches!(refused, Err(LoadVerbError::MetadataAddress { .. })), "{host}");
        }
        let url = Url::parse("http://169.254.169.253/").unwrap();
        assert!(addresses(&url, false).is_ok());
    }

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
