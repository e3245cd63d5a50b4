//! Where a request comes from.

use std::net::IpAddr;

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client, in the extensions of every request: that of the connection, or what a
/// trusted proxy says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// The client behind `peer`. Each proxy appends whom it talked to, so the list is read from its end, and
/// the first address that is no trusted proxy is the client; what stands before it may be invented.
pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> ClientAddress {
    let trusted =
        |address: &IpAddr| proxies.iter().any(|net| net.contains(&address.to_canonical()));
    let mut client = peer;
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let mut hops = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.rsplit(','));
    while trusted(&client) {
        let Some(hop) = hops.next().and_then(|hop| hop.trim().parse().ok()) else { break };
        client = hop;
    }
    ClientAddress(client)
}

/// Whether a proxy says that it passed this request on.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_FOR) || headers.contains_key("forwarded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str], proxies: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().expect("a header"));
        }
        let proxies: Vec<_> = proxies.iter().map(|net| net.parse().expect("a network")).collect();
        address(peer.parse().expect("an address"), &headers, &proxies).0.to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("192.0.2.9", &["203.0.113.5"], &[]), "192.0.2.9");
        assert_eq!(client("10.0.0.1", &["203.0.113.5"], &["10.0.0.0/8"]), "203.0.113.5");
        assert_eq!(client("::ffff:10.0.0.1", &["203.0.113.5"], &["10.0.0.0/8"]), "203.0.113.5");
    }

    #[test]
    fn what_a_client_invents_before_its_own_address_is_not_read() {
        let list = ["198.51.100.1, 203.0.113.5", "10.0.0.2"];
        assert_eq!(client("10.0.0.1", &list, &["10.0.0.0/8"]), "203.0.113.5");
        assert_eq!(client("10.0.0.1", &["203.0.113.5, x"], &["10.0.0.0/8"]), "10.0.0.1");
    }
}
