//! What Rails brings along to stand in front of Puma: thruster and kamal-proxy. No distribution has
//! them, so each is tried where it is on the PATH; with `SWEETSPOT_PROXIES` set both must be.

use super::*;

/// Replies with the port that its connection comes from.
const APP: &str = "[200, {'Content-Type' => 'text/plain'}, [env['puma.socket'].peeraddr[1].to_s]]";

pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn what_rails_brings_along_stands_in_front_keeps_its_connections_and_ends() {
    for proxy in [Proxy::Thruster, Proxy::KamalProxy] {
        let (program, _) = proxy.program().unwrap();
        if !is_there(program) {
            assert!(std::env::var_os("SWEETSPOT_PROXIES").is_none(), "{program} is not there");
            continue;
        }
        let app = TestApp::answering(APP);
        let mut settings = app.settings_on("puma");
        settings.app.proxy = proxy;
        let mut local = started(settings, 2, 1);
        let address = local.address().unwrap();
        let mut ports: Vec<String> = (0..6).map(|_| get(address, "/")).collect();
        ports.dedup();
        assert_eq!(ports.len(), 1, "{proxy:?}: one client after the other over one: {ports:?}");
        app.end(&mut local);
    }
}
